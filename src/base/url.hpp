// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "holdfast/options.hpp"

namespace holdfast {

/// The largest value of the option `token_base`. Clocks and numbers of transactions stay below it for ages,
/// so that tokens with it fit 63 bits.
inline constexpr std::int64_t largest_token_base = std::int64_t{1} << 62;

/// A store URL, taken apart: `scheme:rest?key=value&…`, where rest is a path or `//authority/path`.
/// Percent-escapes are decoded in every part.
class store_url {
 public:
  /// \throws holdfast::error errc::invalid_url, with the URL masked.
  explicit store_url(std::string_view text);

  [[nodiscard]] const std::string& scheme() const noexcept { return scheme_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// The path as `//[user[:password]@]host[:port][/rest]`, each part decoded on its own; parts not given stay
  /// empty.
  /// \throws errc::invalid_url if it has another form.
  struct authority {
    std::string user;
    std::string password;
    std::string host;
    std::string port;
    std::string rest;
  };
  [[nodiscard]] authority split() const;
  /// As `split`, for several servers: `//host[:port],host[:port]…[/rest]`, without a user.
  struct ensemble {
    std::string user;
    std::string password;
    std::vector<std::pair<std::string, std::string>> hosts;  // and ports
    std::string rest;
  };
  [[nodiscard]] ensemble split_many() const;
  /// The same, with a user: `//[user[:password]@]host[:port],host[:port]…[/rest]`.
  [[nodiscard]] ensemble split_many_with_user() const;
  /// Whether its password is the mask `***`: then it is a URL for people, such as `holdfast run` leaves to
  /// its program.
  [[nodiscard]] bool has_masked_password() const noexcept { return has_masked_password_; }
  /// The URL with its password masked.
  [[nodiscard]] const std::string& masked() const noexcept { return masked_; }

  /// Takes an option out; `refuse_rest()` then refuses those that are left.
  [[nodiscard]] std::optional<std::string> take(const std::string& key);
  /// As `take`, for yes/no: 1, 0, true, false, yes, no, on, off.
  [[nodiscard]] bool take_flag(const std::string& key, bool otherwise);
  /// As `take`, for whole numbers from `least` to `most`.
  [[nodiscard]] std::int64_t take_number(const std::string& key, std::int64_t otherwise, std::int64_t least,
                                         std::int64_t most);
  /// As `take`, for durations as `parse_duration` reads them.
  [[nodiscard]] duration take_duration(const std::string& key, duration otherwise);
  /// As `take_duration`, within bounds.
  [[nodiscard]] std::chrono::milliseconds take_milliseconds(const std::string& key,
                                                            std::chrono::milliseconds otherwise,
                                                            std::chrono::milliseconds least,
                                                            std::chrono::milliseconds most);
  /// \throws errc::invalid_url with the first unknown option, and the list of known ones: those of the store,
  ///         and that of all stores.
  void refuse_rest(std::string_view known) const;

  /// Throws an error about this URL.
  [[noreturn]] void refuse(const std::string& reason) const;

 private:
  /// The URL after `//`.
  [[nodiscard]] std::string_view after_slashes() const;
  [[nodiscard]] std::pair<std::string, std::string> host_and_port(std::string_view text) const;
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> hosts_and_ports(std::string_view text) const;

  std::string scheme_;
  std::string raw_path_;
  std::string path_;
  std::string masked_;
  bool has_masked_password_ = false;
  bool may_split_password_ = false;  // an @ comes after the ? that begins the options, and none before
  std::map<std::string, std::string> options_;
};

}  // namespace holdfast
