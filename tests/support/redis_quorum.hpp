// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/certificates.hpp"
#include "support/fault_proxy.hpp"
#include "support/redis_server.hpp"
#include "support/scratch_folder.hpp"

namespace holdfast::test {

/// Real servers that know nothing of each other, on the loopback. They are gone with this object.
class redis_quorum {
 public:
  struct settings {
    std::size_t servers = 5;
    std::vector<std::string> lines{};  ///< of their configuration
    std::string password{};            ///< of each
    bool tls = false;                  ///< for clients
    bool append_only = false;          ///< every write is on the disk before its reply
    bool own_clock = false;            ///< see redis_server::settings
    bool on_lines = false;             ///< clients reach each through a proxy: see `line`
  };

  redis_quorum() : redis_quorum(settings{}) {}
  explicit redis_quorum(settings options);

  [[nodiscard]] std::size_t size() const { return servers_.size(); }
  [[nodiscard]] redis_server& server(std::size_t index) { return *servers_.at(index); }
  /// The proxy before a server, which is its address for clients.
  [[nodiscard]] fault_proxy& line(std::size_t index) { return *lines_.at(index); }

  /// A store URL; `rest` follows the servers: "/3", "?prefix=a:". The restart guard is off: the servers have
  /// just started, and would have no vote for a while. A server counts as silent after 20 s, unless `rest`
  /// names a node_timeout: a test that waits for the silence of a server names a short one.
  [[nodiscard]] std::string url(std::string_view rest = {}) const;
  /// The same with the guard that `rest` names, or the default one.
  [[nodiscard]] std::string guarded_url(std::string_view rest = {}) const;
  /// How many of them have an exclusive hold of a name, of whatever client.
  [[nodiscard]] std::size_t holds_of(const std::string& name, const std::string& prefix = "holdfast:");

 private:
  [[nodiscard]] std::uint16_t port(std::size_t index) const;

  settings settings_;
  scratch_folder folder_;
  std::optional<certificates> authority_;
  std::vector<std::unique_ptr<redis_server>> servers_;
  std::vector<std::unique_ptr<fault_proxy>> lines_;
};

}  // namespace holdfast::test
