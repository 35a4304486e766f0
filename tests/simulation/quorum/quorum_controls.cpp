// SPDX-License-Identifier: Apache-2.0
// What happens where a condition of docs/stores/redlock.md is broken: two hold, as it says, and for how long.
// The resource that checks tokens takes nothing stale.

#include <chrono>
#include <optional>

#include "simulation/quorum/scenario_parts.hpp"

namespace holdfast::sim {

using namespace std::chrono_literals;

namespace {

/// Both hold. The second writes, and then the first.
void require_that_tokens_tell_them_apart(stage& on, actor& first, actor& second,
                                         const std::string& otherwise) {
  on.require(first.holds() && second.holds() && on.sees.excused() != 0, otherwise);
  second.write();
  first.write();
  on.require(on.sees.stale_refused() == 1, "the resource took a stale write");
}

/// The first holder asks the servers again, a third of its ttl after its grant.
void require_that_a_renewal_ends_it(stage& on, actor& first, actor& second) {
  on.run(1s);
  on.require(!first.holds() && second.holds(), "the first holder does not hear of it with its renewal");
}

}  // namespace

/// M. Kleppmann's clock that jumps, on a lock that a bare majority has. Two act, and the resource refuses
/// what is stale. A clock that jumps by nearly the guard is no danger: the server accepts no number that is
/// so much behind.
void clock_jumps_in_a_bare_majority(stage& on) {
  actor& first = on.enter();
  actor& second = on.enter();
  on.part(first, 2, 5s);
  first.lock(1500ms);
  on.run(100ms);
  on.server(0).at.wall.step(on.in.now, 1700ms);
  on.counts.broken(std::nullopt);
  second.lock(3s);
  on.run(300ms);
  require_that_tokens_tell_them_apart(on, first, second, "the clock of one server is not relied on");
}

/// FLUSHALL on servers that run. No process has started anew, so there is no guard.
void majority_is_emptied_while_it_runs(stage& on) {
  actor& first = on.enter();
  actor& second = on.enter();
  require_grant(on, first, 3s);
  for (std::size_t i = 0; i < 2; ++i) {
    on.server(i).server.forget();
    on.counts.forgot_all_at(i);
  }
  on.counts.broken(std::nullopt);
  second.lock(3s);
  on.run(300ms);
  require_that_tokens_tell_them_apart(on, first, second, "servers that were emptied keep a hold");
  require_that_a_renewal_ends_it(on, first, second);
}

/// The settings of the servers have each write on the disk before its reply, and the marker in the copies
/// says that it was so. Nothing shows a server that its files are older than that.
void majority_is_restored_from_old_copies(stage& on) {
  for (quorum_store::node& each : on.store.nodes()) each.server.keep_each_write();
  actor& first = on.enter();
  actor& second = on.enter();
  for (std::size_t i = 0; i < 2; ++i) on.server(i).server.remember();
  require_grant(on, first, 3s);
  for (std::size_t i = 0; i < 2; ++i) on.store.crash(i);
  for (std::size_t i = 0; i < 2; ++i) {
    on.server(i).server.fall_back();
    on.counts.forgot_all_at(i);
    on.server(i).at.come_up();
  }
  on.counts.broken(std::nullopt);
  on.run(400ms);  // until all are connected again
  second.lock(3s);
  on.run(300ms);
  require_that_tokens_tell_them_apart(on, first, second, "servers know what their copies do not have");
  require_that_a_renewal_ends_it(on, first, second);
}

}  // namespace holdfast::sim
