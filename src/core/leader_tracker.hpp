// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "base/failure.hpp"
#include "core/claim.hpp"
#include "holdfast/candidate.hpp"
#include "holdfast/state.hpp"

namespace holdfast::store {

// Pure functions that read an election in the state of its name. Readers, permits and mutexes of Holdfast are
// no candidates. On ZooKeeper an exclusive claim of another library is one: nodes of Curator's LeaderLatch
// and kazoo's Election take part. On the other stores it is a lock.

/// The leader; empty where nobody leads.
[[nodiscard]] std::optional<candidate> leader_in(const std::optional<lock_state>& of);

/// The leader, if there is one, and those who stand by, in the order in which they will lead.
[[nodiscard]] std::vector<candidate> candidates_in(const std::optional<lock_state>& of);

/// Decides what an observer of an election reports, from what it sees of the name, one look after the other.
///
/// A leader with a smaller token than one that was reported is of an older term: a copy of the store that
/// lags behind has answered, or one that has forgotten the newest term. It is reported only when it has
/// outlived its own ttl: then it is being renewed, so it leads, and the larger token was an error. Otherwise
/// one token that is too large would blind the observer for ever. Within a term a former value is not
/// reported either: not while the term is shown, and when a store that has forgotten the end of the term
/// brings it back, likewise not before the leader has outlived its ttl.
class leader_tracker {
 public:
  /// \param state of the name at a look that began after the last one had its answer.
  /// \return what to report, if anything.
  [[nodiscard]] std::optional<observation> looked(time_point now, const std::optional<lock_state>& state);
  /// \return what to report, if anything: each kind of error is reported once, until the store answers.
  [[nodiscard]] std::optional<observation> failed(const failure& reason);
  /// When to look again, where no notification comes first: when the leader's ttl ends, and soon enough to
  /// make up for a notification that was lost.
  [[nodiscard]] time_point next_look(time_point now) const;

 private:
  [[nodiscard]] bool is_outdated(time_point now, const std::optional<candidate>& leader);

  bool reported_ = false;
  std::optional<candidate> leader_;  // the one that was reported last
  std::optional<std::error_code> error_;
  /// In the order of terms, and of the values of each.
  using position = std::pair<fencing_token, std::uint64_t>;
  [[nodiscard]] static position position_of(const candidate& leader);
  position newest_;
  /// A leader of an older term, and when it has outlived its ttl.
  struct older_term {
    fencing_token token;
    time_point outlived;
  };
  std::optional<older_term> older_;
};

}  // namespace holdfast::store
