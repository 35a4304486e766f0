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
/// and
///         errc::corrupt_store where the store cannot be used at all.
[[nodiscard]] HOLDFAST_EXPORT std::vector<finding> diagnose(std::string_view url,
                                                            const client_options& options = {});

}  // namespace holdfast
