// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/scheduler.hpp"
#include "lease/lease_manager.hpp"

namespace holdfast::lease_core {

/// The leases, in the order of the claims; or why there are none, as of one claim (see `taken`).
using set_taken = store::answer<std::vector<lease_record_ptr>>;

/// The claims of one client for several names at once, all or none.
///
/// A set first tries all of its names, in requests that follow one another without waiting for replies. If
/// one is not free, the set waits for it in its queue. Meanwhile it holds the names before that one, and none
/// of those after it. So whoever waits holds only smaller names than the one that it waits for, and no ring
/// of waiting sets can close (Havender 1968: resources are requested in one order). A name that is lost
/// meanwhile is acquired anew. A try that fails because the store cannot serve now counts as refused, if the
/// set waits. With no name after it, the last one is waited for at once.
///
/// What a waiting set holds is renewed, also for users who renew themselves: they get whole ttls in the end.
///
/// Called under the core lock; handlers are called under it, too.
class set_claims {
 public:
  set_claims(store::scheduler& time, lease_manager& leases, operations& all)
      : time_{time}, leases_{leases}, operations_{all} {}
  set_claims(const set_claims&) = delete;
  set_claims& operator=(const set_claims&) = delete;

  /// \param claims sorted by their names, each name once. Those that do not wait are tried once.
  /// \param limit end of the wait, for answers and in queues; empty: no limit.
  /// \return an operation. Cancelling it releases what the set holds, and withdraws what it waits for.
  op_id acquire(std::vector<store::claim> claims, std::optional<store::time_point> limit,
                store::handler<set_taken> done);
  /// A lease of this client has been lost; its set, if it belongs to one that waits, goes back to its name.
  void lost(lease_record& lease);

 private:
  class set;

  store::scheduler& time_;
  lease_manager& leases_;
  operations& operations_;
  std::unordered_map<const lease_record*, std::weak_ptr<set>> set_of_;  // of what sets hold while they go on
};

}  // namespace holdfast::lease_core
