#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/owner_id.hpp"
#include "holdfast/fencing_token.hpp"
#include "holdfast/options.hpp"
#include "holdfast/state.hpp"
#include "stores/zookeeper/protocol/operation.hpp"

namespace holdfast::zookeeper {

/// The mark of a hold: the data of a node of its own, which outlives the session. While all nodes of the hold
/// are there the mark says no more than that the claim was decided. Afterwards the name rests, for the length
/// of the mark, counted from when the mark was last written as `is_stamped`. Permits, whose nodes go one by
/// one, count by the mark until the last of them is gone.
struct mark {
  holdfast::mode mode = holdfast::mode::exclusive;
  std::int64_t permits = 0;  // of a semaphore
  duration length{};
  bool is_stamped = false;  // the length counts from the last change of the node
  fencing_token token;      // of the hold
  std::string metadata;
};

[[nodiscard]] std::string to_text(const mark& m);
/// \return nothing for data of another format. A length is at most `longest_rest`.
[[nodiscard]] std::optional<mark> read_mark(std::string_view text);

inline constexpr std::chrono::hours longest_rest{24};

/// What is left of a rest, by the leader's clock.
/// \param now_ms the leader's clock, from before or after the mark was written. A clock that was set back
/// makes no rest longer than its length.
[[nodiscard]] duration left_of(const mark& m, const status& node, std::int64_t now_ms);

/// Whether a mark was written when the leader's clock was ahead of what it is now by more than the time
/// between two steps may be.
/// \param now_ms zero: not known.
[[nodiscard]] bool is_of_the_future(const status& node, std::int64_t now_ms);

/// The node below a lock's, beside its contenders, that has the marks. No name leads to this path, and
/// recipes sort it behind all contenders.
inline constexpr std::string_view rests_node = "rests%";

/// The parent of the marks.
/// \param base the lock's node.
[[nodiscard]] std::string rests_path(const std::string& base);
/// The mark of a claim, by the guid in the names of its nodes.
[[nodiscard]] std::string mark_path(const std::string& base, const owner_id& guid);

/// The claims of a name that have a node, by guid.
/// \param children of the lock's node, of `locks` or of `leases`.
void add_living(std::set<owner_id>& to, const std::vector<std::string>& children);
/// The guids of the marks whose claims have no node.
/// \param marks the children of `rests_path`, read after the living.
[[nodiscard]] std::vector<owner_id> ended_of(const std::vector<std::string>& marks,
                                             const std::set<owner_id>& living);

}  // namespace holdfast::zookeeper
