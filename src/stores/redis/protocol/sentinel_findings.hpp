#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/failure.hpp"
#include "holdfast/diagnosis.hpp"
#include "stores/redis/protocol/server_address.hpp"
#include "stores/redis/protocol/value.hpp"

namespace holdfast::redis {

/// What a Sentinel of a URL has said of a primary, and of the others that monitor it.
struct sentinel_facts {
  /// Another Sentinel, as this one sees it. The URL may not name it.
  struct peer {
    std::string id;
    bool is_down = false;
  };

  std::string place;
  failure problem;                        // why it does not answer; an empty message: it does
  std::optional<server_address> primary;  // empty: it does not know the name
  std::string id;                         // its own; empty: it does not tell
  std::int64_t quorum = 0;                // so many have to find that the primary is down; 0: not told
  std::vector<peer> others;
  std::string check_refusal;  // why it does not tell whether a failover could be decided; empty: it does
  std::string check_problem;  // why none could be; empty: one could

  /// Reads the replies to SENTINEL SENTINELS, CKQUORUM, MASTER and MYID. An error leaves a field as it is.
  void hear(const value& sentinels, const value& check, const value& master, const value& own_id);

  [[nodiscard]] bool tells() const { return primary && check_refusal.empty(); }
};

/// Whether the Sentinels agree on a primary, and can decide on a failover.
/// \param all that the URL names. \param name of the primary. \param user at the Sentinels.
[[nodiscard]] std::vector<finding> findings_of(const std::vector<sentinel_facts>& all, std::string_view name,
                                               const std::string& user);

/// The primary that most of them name; empty: none names one.
[[nodiscard]] std::optional<server_address> named_by_most(const std::vector<sentinel_facts>& all);

}  // namespace holdfast::redis
