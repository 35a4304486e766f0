// SPDX-License-Identifier: Apache-2.0
#include "holdfast/detail/handle.hpp"

#include <algorithm>
#include <deque>
#include <thread>
#include <utility>

#include "api/access.hpp"
#include "api/claims.hpp"
#include "api/ends.hpp"
#include "api/start.hpp"
#include "api/vacancy.hpp"
#include "base/annotated_mutex.hpp"
#include "base/name.hpp"

namespace holdfast::detail {

completion::~completion() = default;

void pending::cancel() noexcept {
  if (const auto core = owner.lock()) core->cancel(id);
}

namespace {
/// A hold, and the mode in which it was locked and will be unlocked. Its lease may be less than that: after a
/// downgrade whose outcome is unknown the lease is shared, and the user still unlocks an exclusive hold.
struct kept_lease {
  lease held;
  mode locked_as = mode::exclusive;
  std::thread::id locked_by;
};
}  // namespace

struct handle::state {
  std::shared_ptr<client_core> locks;
  store::claim pattern;  // of each call's claim
  std::string attempt;   // the beginning of errors: "cannot lock 'stock' on redis://host"
  lock_options options;

  vacancy place;
  /// Oldest first; at most one of mode::exclusive.
  std::deque<kept_lease> kept HOLDFAST_GUARDED_BY(place.mutex);

  [[nodiscard]] store::claim_ptr claim_for(const lock_request& request, const acquiring& call) const {
    auto wanted = std::make_shared<store::claim>(pattern);
    wanted->mode = request.mode;
    wanted->permits = request.permits;
    return claim_of(std::move(wanted), call.waits());
  }
  [[nodiscard]] std::optional<lease> acquire(const lock_request& request, const acquiring& call) const;
  void require_ours() const {
    if (!locks->is_ours()) locks->require_open();
  }
  /// A hold that was lost keeps its place here until its user unlocks it, so that no user unlocks another's
  /// hold.
  /// \throws holdfast::error errc::lost if this thread would wait for its own unlock.
  [[nodiscard]] bool is_vacant(mode wanted) const HOLDFAST_REQUIRES(place.mutex) {
    if (wanted == mode::permits) return true;
    bool vacant = true;
    for (const kept_lease& each : kept) {
      if (each.held.held()) continue;
      if (each.locked_by == std::this_thread::get_id()) {
        throw error{errc::lost, attempt +
                                    ": this thread has locked the object, and that hold was lost; unlock "
                                    "it first, also what is lost"};
      }
      vacant = vacant && (wanted != mode::exclusive || each.locked_as != mode::exclusive);
    }
    return vacant;
  }
  /// The oldest hold that was locked so; empty if there is none.
  [[nodiscard]] std::optional<lease> take_out(mode locked_as) {
    const annotated::lock held{place.mutex};
    const auto found = std::find_if(kept.begin(), kept.end(),
                                    [&](const kept_lease& each) { return each.locked_as == locked_as; });
    if (found == kept.end()) return std::nullopt;
    std::optional<lease> taken{std::move(found->held)};
    kept.erase(found);
    return taken;
  }
  /// The newest kept lease; null if there is none.
  [[nodiscard]] const lease* newest() const HOLDFAST_REQUIRES(place.mutex) {
    return kept.empty() ? nullptr : &kept.back().held;
  }
  /// What `of` says of the newest kept lease. \throws holdfast::error errc::not_owner.
  template <class Of>
  [[nodiscard]] auto of_newest(Of of) {
    require_ours();
    const annotated::lock held{place.mutex};
    if (const lease* held_last = newest()) return of(*held_last);
    throw error{errc::not_owner, "this object does not hold '" + pattern.name + "'"};
  }
};

std::optional<lease> handle::state::acquire(const lock_request& request, const acquiring& call) const {
  locks->require_open();
  auto claim = claim_for(request, call);
  if (call.stop.stop_requested()) return std::nullopt;
  auto record = acquired(locks->wait<lease_core::taken>(acquisition_of(std::move(claim), call), call.stop),
                         call, attempt);
  if (!record) return std::nullopt;
  return lease_access::make(std::move(*record));
}

handle::handle(client& locks, std::string_view name, std::int64_t capacity,
               const std::optional<lock_options>& options, bool shareable)
    : state_{std::make_unique<state>()} {
  state& s = *state_;
  s.locks = client_access::core_of(locks);
  s.options = options.value_or(s.locks->options().locks());
  s.pattern = with_options({.name = lock_name{name}.str(), .capacity = capacity, .shareable = shareable},
                           s.options, metadata_for(*s.locks, s.options));
  s.attempt = "cannot lock '" + s.pattern.name + "' on " + s.locks->url();
}

handle::~handle() {
  // The destructor of a condition variable waits for its waiting threads, which do not exist in a child after
  // fork().
  if (is_inherited()) {
    [[maybe_unused]] const state* const left_alone = state_.release();
  }
}

bool handle::is_inherited() const noexcept { return !state_->locks->is_ours(); }
void handle::require_open() const { state_->locks->require_open(); }

std::optional<lease> handle::acquire(const lock_request& request) {
  return state_->acquire(request, {request.limit, state_->options, request.stop});
}

pending handle::async_acquire(const lock_request& request, std::unique_ptr<completion> handler) {
  return start_or_complete(std::move(handler), [&](const std::shared_ptr<completion>& shared) {
    const state& s = *state_;
    s.locks->require_open();
    const acquiring call{request.limit, s.options};
    const auto to_outcome = [](lease_core::lease_record_ptr record) {
      return outcome{{}, {}, lease_access::make(std::move(record))};
    };
    return s.locks->start<lease_core::taken>(
        acquisition_of(s.claim_for(request, call), call),
        completing<lease_core::lease_record_ptr>(shared, s.attempt, to_outcome, call.may_be_empty),
        shared->is_internal());
  });
}

bool handle::lock(const lock_request& request) {
  state& s = *state_;
  s.locks->require_open();  // before the mutex is touched, which a child may have inherited locked
  return s.place.lock(
      *s.locks, {request.limit, s.options, request.stop},
      [&] {
        s.place.mutex.assert_locked();
        return s.is_vacant(request.mode);
      },
      [&](const acquiring& call) { return s.acquire(request, call); },
      [&](lease&& granted) {
        s.place.mutex.assert_locked();
        s.kept.emplace_back(std::move(granted), request.mode, std::this_thread::get_id());
      },
      [&] {
        return error{errc::timeout, s.attempt +
                                        ": another user of this object has lost its hold, and did not "
                                        "unlock it within the wait limit"};
      });
}

void handle::unlock(mode m, std::ptrdiff_t count) noexcept {
  if (is_inherited()) return;
  state& s = *state_;
  for (; count > 0; --count) {
    const auto released = s.take_out(m);
    if (!released) return;
    // Wakes all of them, because the first to wake may have reached its time limit.
    s.place.unlocked.notify_all();
  }
}

void handle::downgrade() {
  state& s = *state_;
  s.locks->require_open();
  lease_core::lease_record_ptr own;
  {
    const annotated::lock held{s.place.mutex};
    if (s.kept.empty() || s.kept.back().locked_as != mode::exclusive) {
      throw error{errc::not_owner, "this object does not hold '" + s.pattern.name + "' exclusively"};
    }
    own = lease_access::record(s.kept.back().held);
  }
  // The lease stays in its place, so that other threads see it held.
  downgrade_lease(own);
  {
    const annotated::lock held{s.place.mutex};
    for (kept_lease& each : s.kept) {
      if (lease_access::record(each.held) == own) each.locked_as = mode::shared;
    }
  }
  s.place.unlocked.notify_all();
}

fencing_token handle::token() const {
  return state_->of_newest([](const lease& held) { return held.token(); });
}
std::stop_token handle::lost() const {
  return state_->of_newest([](const lease& held) { return held.lost(); });
}
std::stop_token handle::release_requested() const {
  return state_->of_newest([](const lease& held) { return held.release_requested(); });
}

bool handle::held() const noexcept {
  if (is_inherited()) return false;
  const annotated::lock held{state_->place.mutex};
  const lease* newest = state_->newest();
  return newest != nullptr && newest->held();
}

const std::string& handle::name() const noexcept { return state_->pattern.name; }
std::int64_t handle::capacity() const noexcept { return state_->pattern.capacity; }

}  // namespace holdfast::detail
