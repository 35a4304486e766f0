// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/error.hpp"
#include "holdfast/export.hpp"
#include "holdfast/options.hpp"

namespace holdfast {

/// What one check of a store has found.
struct finding {
  /// In rising order.
  enum class grade : std::uint8_t {
    kept,     ///< locks exclude one another as docs/guarantees.md has it, as far as this condition goes
    unknown,  ///< the check could not be made, because the user of the URL may not look, say
    warning,  ///< it is kept now, and will or may not be under a fault, a load or a step of a clock
    broken,   ///< locks fail, or may be held twice
  };

  std::string subject;         ///< the server, file or host that was looked at: `db-1:6379`
  std::string condition;       ///< the name of the check, which stays the same over versions: `persistence`
  grade result = grade::kept;  ///< whether it is kept
  std::string observed;        ///< a sentence without its period: `appendfsync is everysec`
  std::string meaning;         ///< for locks; empty where the condition is kept
  std::string remedy;          ///< the command or the setting that mends it; may be empty

  friend bool operator==(const finding&, const finding&) = default;
};

/// Looks whether the store of a URL keeps the conditions of docs/guarantees.md now: settings, rights, clocks,
/// topology. No lock is taken, and nothing that it finds is changed; a server may log refused commands (ACL
/// LOG) and the session that it looks with. Blocks: of each server it waits for a handful of answers, each
/// stage of which is bound by the URL's `connect_timeout` and its time limit for answers, and for the time
/// that looking names up takes; of a file for a few seconds. May be called from any thread.
/// \param options the ttl and grace in use, against which guards are held; the password, where it is not in
///        the URL.
/// \return all findings, also of conditions that are kept, server by server. A server that does not answer is
///         one of them, unless no other is left.
/// \throws holdfast::error errc::invalid_url; errc::unavailable, errc::permission_denied, errc::foreign_store
///         and errc::corrupt_store where the store cannot be used at all.
[[nodiscard]] HOLDFAST_EXPORT std::vector<finding> diagnose(std::string_view url,
                                                            const client_options& options = {});

/// As `diagnose`, for a store that takes over from another: with one finding more, of the condition `tokens`.
/// It says whether every fencing token of this store exceeds those that the former one has granted, and may
/// grant while clients move, so that resources which check tokens admit the clients of this store
/// (docs/moving.md). Else its remedy has the `token_base` for this store's URL. The former store is examined
/// likewise, and its names are listed as client::list does.
/// \param url of the store that takes over, with the token_base in use, if there is one.
/// \param former the URL of the other store, with its own.
/// \param options as of `diagnose`.
/// \param options_of_former its password, where that is not in its URL.
/// \throws holdfast::error as `diagnose` does, and where the former store cannot be examined and listed.
[[nodiscard]] HOLDFAST_EXPORT std::vector<finding> diagnose_after(
    std::string_view url, std::string_view former, const client_options& options = {},
    const client_options& options_of_former = {});

}  // namespace holdfast
