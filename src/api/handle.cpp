#include "holdfast/detail/handle.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <thread>
#include <utility>

#include "api/access.hpp"
#include "api/claims.hpp"
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
  std::string name;
  std::shared_ptr<const std::string>
      attempt;  // the beginning of errors: "cannot lock 'stock' on redis://host"
  std::int64_t capacity = 0;
  bool shareable = false;
  lock_options options;
  std::shared_ptr<const std::string> metadata;

  vacancy place;
  /// Oldest first; at most one of mode::exclusive.
  std::deque<kept_lease> kept HOLDFAST_GUARDED_BY(place.mutex);

  [[nodiscard]] lease_core::wish wish_for(const lock_request& request, std::optional<duration> limit) const;
  [[nodiscard]] std::optional<duration> limit_of(const lock_request& request) const {
    return request.limit ? request.limit : options.wait_limit();
  }
  /// \param limit in place of the request's; empty: none.
  [[nodiscard]] std::optional<lease> acquire(const lock_request& request,
                                             std::optional<duration> limit) const;
  [[nodiscard]] lease lease_of(const lease_core::lease_record_ptr& record) const {
    set_client(*record, locks);
    return lease_access::make(record);
  }
  void require_ours() const {
    if (!locks->is_ours()) locks->require_open();
  }
  [[nodiscard]] error timed_out() const {
    return {errc::timeout, *attempt + ": others held it for the whole wait limit"};
  }
  [[nodiscard]] error not_unlocked() const {
    return {
        errc::timeout,
        *attempt +
            ": another user of this object has lost its hold, and did not unlock it within the wait limit"};
  }
  /// A hold that was lost keeps its place here until its user unlocks it, so that no user unlocks another's
  /// hold.
  /// \throws holdfast::error errc::lost where this thread would wait for its own unlock.
  [[nodiscard]] bool is_vacant(mode wanted) const HOLDFAST_REQUIRES(place.mutex) {
    if (wanted == mode::permits) return true;
    bool vacant = true;
    for (const kept_lease& each : kept) {
      if (each.held.held()) continue;
      if (each.locked_by == std::this_thread::get_id()) {
        throw error{errc::lost, *attempt +
                                    ": this thread has locked the object, and that hold was lost; unlock "
                                    "it first, also what is lost"};
      }
      vacant = vacant && (wanted != mode::exclusive || each.locked_as != mode::exclusive);
    }
    return vacant;
  }
  /// Waits until the object can keep one more lease of that mode, and calls `then` with the kept leases.
  /// \return false when the time was up or the wait was stopped.
  /// \throws holdfast::error errc::closed, errc::lost.
  template <class Then>
  bool when_vacant(const lock_request& request, const std::optional<vacancy::clock::time_point>& until,
                   Then then) {
    return place.when(
        [&] {
          place.mutex.assert_locked();
          return is_vacant(request.mode);
        },
        [&] {
          place.mutex.assert_locked();
          then(kept);
        },
        *locks, until, request.stop);
  }
  /// The newest kept lease; null where there is none.
  [[nodiscard]] const lease* newest() const HOLDFAST_REQUIRES(place.mutex) {
    return kept.empty() ? nullptr : &kept.back().held;
  }
};

lease_core::wish handle::state::wish_for(const lock_request& request, std::optional<duration> limit) const {
  return wish_of({name, request.mode, request.permits, capacity, shareable}, options, metadata,
                 limit != duration::zero());
}

std::optional<lease> handle::state::acquire(const lock_request& request,
                                            std::optional<duration> limit) const {
  locks->require_open();
  auto wish = wish_for(request, limit);
  if (request.stop.stop_requested()) return std::nullopt;
  auto result = locks->acquire(std::move(wish), limit, request.stop);
  if (const auto* record = std::get_if<lease_core::lease_record_ptr>(&result)) return lease_of(*record);
  if (const auto* failed = std::get_if<failure>(&result)) {
    if (failed->code == errc::cancelled && request.stop.stop_requested()) return std::nullopt;
    throw error{failed->code, *attempt + ": " + failed->message};
  }
  if (!request.limit) throw timed_out();
  return std::nullopt;
}

handle::handle(client& locks, std::string_view name, std::int64_t capacity,
               const std::optional<lock_options>& options, bool shareable)
    : state_{std::make_unique<state>()} {
  state& s = *state_;
  s.locks = client_access::core_of(locks);
  s.name = lock_name{name}.str();
  s.capacity = capacity;
  s.shareable = shareable;
  s.options = options.value_or(s.locks->options().locks());
  s.metadata = metadata_for(*s.locks, s.options);
  s.attempt = std::make_shared<const std::string>("cannot lock '" + s.name + "' on " + s.locks->url());
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
  return state_->acquire(request, state_->limit_of(request));
}

pending handle::async_acquire(const lock_request& request, std::unique_ptr<completion> handler) {
  const state& s = *state_;
  const std::shared_ptr<completion> shared{std::move(handler)};
  lease_core::wish wish;
  try {
    s.locks->require_open();
    wish = s.wish_for(request, s.limit_of(request));
  } catch (const error& e) {
    return complete_with(e, shared);
  }
  const bool may_be_empty = request.limit.has_value();
  pending p;
  p.owner = s.locks;
  p.id = s.locks->start_acquire(
      std::move(wish), s.limit_of(request),
      [shared, may_be_empty, weak = std::weak_ptr{s.locks}, attempt = s.attempt](lease_core::taken result) {
        if (const auto* record = std::get_if<lease_core::lease_record_ptr>(&result)) {
          set_client(**record, weak);
          shared->complete({{}, {}, lease_access::make(*record)});
        } else if (const auto* failed = std::get_if<failure>(&result)) {
          shared->complete({failed->code, *attempt + ": " + failed->message, {}});
        } else if (may_be_empty) {
          shared->complete({});
        } else {
          shared->complete({errc::timeout, *attempt + ": others held it for the whole wait limit", {}});
        }
      });
  return p;
}

bool handle::lock(const lock_request& request) {
  state& s = *state_;
  s.locks->require_open();  // before the mutex is touched, which a child may have inherited locked
  const auto limit = s.limit_of(request);
  std::optional<vacancy::clock::time_point> until;
  if (limit) until = vacancy::clock::now() + *limit;
  const auto refused = [&] {
    if (!request.limit && !request.stop.stop_requested()) throw s.not_unlocked();
    return false;
  };
  if (!s.when_vacant(request, until, [](const auto& /*kept*/) {})) return refused();
  const auto left = limit > duration::zero() ? std::optional{left_until(*until)} : limit;
  auto granted = s.acquire(request, left);
  if (!granted) return false;
  // The kept hold may have been lost while this one waited in the queue: its place here is still taken.
  const auto keep = [&](std::deque<kept_lease>& kept) {
    kept.push_back({std::move(*granted), request.mode, std::this_thread::get_id()});
  };
  if (!s.when_vacant(request, until, keep)) {
    granted.reset();
    return refused();
  }
  return true;
}

void handle::unlock(mode m, std::ptrdiff_t count) noexcept {
  if (is_inherited()) return;
  state& s = *state_;
  for (; count > 0; --count) {
    lease released;
    {
      const annotated::lock held{s.place.mutex};
      const auto found =
          std::find_if(s.kept.begin(), s.kept.end(), [&](const kept_lease& k) { return k.locked_as == m; });
      if (found == s.kept.end()) return;
      released = std::move(found->held);
      s.kept.erase(found);
    }
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
      throw error{errc::not_owner, "this object does not hold '" + s.name + "' exclusively"};
    }
    own = lease_access::record(s.kept.back().held);
  }
  // The lease stays in its place, so that other threads see it held.
  if (const auto failed = s.locks->downgrade(own)) {
    throw explained(*failed, "cannot downgrade the hold of '" + s.name + "'", *s.locks);
  }
  {
    const annotated::lock held{s.place.mutex};
    for (kept_lease& each : s.kept) {
      if (lease_access::record(each.held) == own) each.locked_as = mode::shared;
    }
  }
  s.place.unlocked.notify_all();
}

fencing_token handle::token() const {
  state_->require_ours();
  const annotated::lock held{state_->place.mutex};
  if (const lease* newest = state_->newest()) return newest->token();
  throw error{errc::not_owner, "this object does not hold '" + state_->name + "'"};
}

std::stop_token handle::lost() const {
  state_->require_ours();
  const annotated::lock held{state_->place.mutex};
  if (const lease* newest = state_->newest()) return newest->lost();
  throw error{errc::not_owner, "this object does not hold '" + state_->name + "'"};
}

std::stop_token handle::release_requested() const {
  state_->require_ours();
  const annotated::lock held{state_->place.mutex};
  if (const lease* newest = state_->newest()) return newest->release_requested();
  throw error{errc::not_owner, "this object does not hold '" + state_->name + "'"};
}

bool handle::held() const noexcept {
  if (is_inherited()) return false;
  const annotated::lock held{state_->place.mutex};
  const lease* newest = state_->newest();
  return newest != nullptr && newest->held();
}

const std::string& handle::name() const noexcept { return state_->name; }
std::int64_t handle::capacity() const noexcept { return state_->capacity; }

}  // namespace holdfast::detail
