#include "holdfast/detail/set_handle.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <variant>

#include "api/claims.hpp"
#include "api/set_access.hpp"
#include "api/vacancy.hpp"
#include "base/name.hpp"
#include "holdfast/error.hpp"

namespace holdfast::detail {

namespace {

constexpr std::size_t most_names = 256;

/// "'a', 'b' and 'c'"; of many the first ones alone.
std::string list_of(const std::vector<lock_spec>& names) {
  constexpr std::size_t most_shown = 4;
  std::string text;
  for (std::size_t place = 0; place < std::min(names.size(), most_shown); ++place) {
    const bool last = place + 1 == names.size();
    if (place != 0) text += last ? " and " : ", ";
    text += '\'' + names[place].name() + '\'';
  }
  if (names.size() > most_shown) text += " and " + std::to_string(names.size() - most_shown) + " more";
  return text;
}

}  // namespace

struct set_handle::state {
  std::shared_ptr<client_core> locks;
  std::vector<lock_spec> names;
  /// The places of the names in the order of their bytes, in which they are acquired.
  std::vector<std::size_t> order;
  std::string attempt;  // the beginning of errors: "cannot lock 'a' and 'b' on redis://host"
  lock_options options;
  std::shared_ptr<const std::string> metadata;

  vacancy place;
  lease_set kept HOLDFAST_GUARDED_BY(place.mutex);
  std::thread::id locked_by HOLDFAST_GUARDED_BY(place.mutex);  // what is kept

  [[nodiscard]] std::optional<duration> limit_or_default(std::optional<duration> limit) const {
    return limit ? limit : options.wait_limit();
  }
  [[nodiscard]] std::vector<lease_core::wish> wishes(bool waits) const;
  [[nodiscard]] lease_set leases_of(const std::vector<lease_core::lease_record_ptr>& in_order,
                                    const std::weak_ptr<client_core>& of) const;
  /// The same, for an asynchronous operation.
  [[nodiscard]] outcome outcome_of(const std::vector<lease_core::lease_record_ptr>& in_order,
                                   const std::weak_ptr<client_core>& of) const;
  /// \param longest the limit; empty: none. \param throws at the limit, errc::timeout.
  [[nodiscard]] std::optional<lease_set> acquire(std::optional<duration> longest, bool throws,
                                                 const std::stop_token& stop) const;
  [[nodiscard]] std::string text_of(const lease_core::set_failure& failed) const {
    const bool is_of_one = names.size() > 1 && failed.name && failed.reason.code != errc::closed;
    const std::string which = is_of_one ? "'" + names[order[*failed.name]].name() + "': " : "";
    return attempt + ": " + which + failed.reason.message;
  }
  [[nodiscard]] std::string text_of_timeout() const {
    return attempt + ": others held " + (names.size() == 1 ? "it" : "one of them") +
           " for the whole wait limit";
  }
};

std::vector<lease_core::wish> set_handle::state::wishes(bool waits) const {
  std::vector<lease_core::wish> all;
  for (const std::size_t each : order) {
    const lock_spec& spec = names[each];
    all.push_back(wish_of({spec.name(), spec.mode(), spec.count(), spec.capacity(), spec.is_shareable()},
                          options, metadata, waits));
  }
  return all;
}

/// In the order in which the user gave the names. \throws std::bad_alloc: then they are released.
lease_set set_handle::state::leases_of(const std::vector<lease_core::lease_record_ptr>& in_order,
                                       const std::weak_ptr<client_core>& of) const {
  for (const lease_core::lease_record_ptr& each : in_order) set_client(*each, of);
  try {
    std::vector<lease> leases(names.size());
    for (std::size_t each = 0; each < order.size(); ++each) {
      leases[order[each]] = lease_access::make(in_order[each]);
    }
    return set_access::make(std::move(leases));
  } catch (...) {
    for (const lease_core::lease_record_ptr& each : in_order) const lease released = lease_access::make(each);
    throw;
  }
}

outcome set_handle::state::outcome_of(const std::vector<lease_core::lease_record_ptr>& in_order,
                                      const std::weak_ptr<client_core>& of) const {
  try {
    return {{}, {}, {}, leases_of(in_order, of)};
  } catch (const std::bad_alloc& e) {
    return {errc::exhausted, attempt + ": " + e.what(), {}};
  }
}

std::optional<lease_set> set_handle::state::acquire(std::optional<duration> longest, bool throws,
                                                    const std::stop_token& stop) const {
  locks->require_open();
  if (stop.stop_requested()) return std::nullopt;
  const auto result = locks->acquire_set(wishes(longest != duration::zero()), longest, stop);
  if (const auto* all = std::get_if<std::vector<lease_core::lease_record_ptr>>(&result)) {
    return leases_of(*all, locks);
  }
  if (const auto* failed = std::get_if<lease_core::set_failure>(&result)) {
    if (failed->reason.code == errc::cancelled && stop.stop_requested()) return std::nullopt;
    throw error{failed->reason.code, text_of(*failed)};
  }
  if (throws) throw error{errc::timeout, text_of_timeout()};
  return std::nullopt;
}

set_handle::set_handle(client& locks, std::vector<lock_spec> names,
                       const std::optional<lock_options>& options)
    : state_{std::make_unique<state>()} {
  state& s = *state_;
  if (names.empty() || names.size() > most_names) {
    throw error{errc::invalid_argument, "lock_set: " + std::to_string(names.size()) +
                                            " names; a set has 1 to " + std::to_string(most_names)};
  }
  s.locks = client_access::core_of(locks);
  s.options = options.value_or(s.locks->options().locks());
  s.metadata = metadata_for(*s.locks, s.options);
  s.names = std::move(names);
  for (std::size_t each = 0; each < s.names.size(); ++each) {
    static_cast<void>(lock_name{s.names[each].name()});  // throws where it is none
    if (s.names[each].mode() == mode::permits) checked_capacity(s.names[each].capacity(), "lock_spec");
    s.order.push_back(each);
  }
  const auto name_at = [&](std::size_t each) -> const std::string& { return s.names[each].name(); };
  std::sort(s.order.begin(), s.order.end(),
            [&](std::size_t one, std::size_t other) { return name_at(one) < name_at(other); });
  const auto twice =
      std::adjacent_find(s.order.begin(), s.order.end(),
                         [&](std::size_t one, std::size_t other) { return name_at(one) == name_at(other); });
  if (twice != s.order.end()) {
    throw error{errc::invalid_argument, "lock_set: the name '" + name_at(*twice) + "' comes twice"};
  }
  s.attempt = "cannot lock " + list_of(s.names) + " on " + s.locks->url();
  static_cast<void>(s.wishes(false));  // throws for permits beyond the capacity
}

set_handle::~set_handle() {
  // As of a handle: the waiting threads of a condition variable do not exist in a child after fork().
  if (!state_->locks->is_ours()) {
    [[maybe_unused]] const state* const left_alone = state_.release();
  }
}

std::optional<lease_set> set_handle::acquire(std::optional<duration> limit, const std::stop_token& stop) {
  return state_->acquire(state_->limit_or_default(limit), !limit, stop);
}

pending set_handle::async_acquire(std::optional<duration> limit, std::unique_ptr<completion> handler) {
  const state& s = *state_;
  const std::shared_ptr<completion> shared{std::move(handler)};
  try {
    s.locks->require_open();
  } catch (const error& e) {
    return complete_with(e, shared);
  }
  const auto longest = s.limit_or_default(limit);
  // The lock object may be destroyed before the operation has ended: its parts that are needed then. Not the
  // client, which would keep itself alive by its own operation.
  auto self = std::make_shared<state>();
  self->names = s.names;
  self->order = s.order;
  self->attempt = s.attempt;
  pending p;
  p.owner = s.locks;
  p.id = s.locks->start_acquire_set(
      s.wishes(longest != duration::zero()), longest,
      [shared, self, weak = std::weak_ptr{s.locks},
       may_be_empty = limit.has_value()](const lease_core::set_taken& result) {
        if (const auto* all = std::get_if<std::vector<lease_core::lease_record_ptr>>(&result)) {
          shared->complete(self->outcome_of(*all, weak));
        } else if (const auto* failed = std::get_if<lease_core::set_failure>(&result)) {
          shared->complete({failed->reason.code, self->text_of(*failed), {}});
        } else if (may_be_empty) {
          shared->complete({});
        } else {
          shared->complete({errc::timeout, self->text_of_timeout(), {}});
        }
      });
  return p;
}

bool set_handle::lock(std::optional<duration> limit, const std::stop_token& stop) {
  state& s = *state_;
  s.locks->require_open();  // before the mutex is touched, which a child may have inherited locked
  const auto longest = s.limit_or_default(limit);
  std::optional<vacancy::clock::time_point> until;
  if (longest) until = vacancy::clock::now() + *longest;
  const auto refused = [&] {
    if (!limit && !stop.stop_requested()) {
      throw error{errc::timeout,
                  s.attempt + ": another user of this object had it locked for the whole wait limit"};
    }
    return false;
  };
  const auto is_vacant = [&] {
    s.place.mutex.assert_locked();
    if (s.kept && !s.kept.held() && s.locked_by == std::this_thread::get_id()) {
      throw error{errc::lost, s.attempt +
                                  ": this thread has locked the object, and a hold of it was lost; unlock "
                                  "it first, also what is lost"};
    }
    return !s.kept;
  };
  if (!s.place.when(is_vacant, [] {}, *s.locks, until, stop)) return refused();
  const auto left = longest > duration::zero() ? std::optional{left_until(*until)} : longest;
  auto granted = s.acquire(left, !limit, stop);
  if (!granted) return false;
  const auto keep = [&] {
    s.place.mutex.assert_locked();
    s.kept = std::move(*granted);
    s.locked_by = std::this_thread::get_id();
  };
  // Another thread may have locked the object meanwhile.
  if (!s.place.when(is_vacant, keep, *s.locks, until, stop)) {
    granted.reset();
    return refused();
  }
  return true;
}

void set_handle::unlock() noexcept {
  state& s = *state_;
  if (!s.locks->is_ours()) return;
  lease_set released;
  {
    const annotated::lock held{s.place.mutex};
    released = std::move(s.kept);
  }
  s.place.unlocked.notify_all();
}

fencing_token set_handle::token(std::string_view name) const {
  if (!state_->locks->is_ours()) state_->locks->require_open();
  const annotated::lock held{state_->place.mutex};
  return state_->kept.token(name);
}

std::stop_token set_handle::lost() const {
  if (!state_->locks->is_ours()) state_->locks->require_open();
  const annotated::lock held{state_->place.mutex};
  if (state_->kept) return state_->kept.lost();
  throw error{errc::not_owner, "this object holds nothing"};
}

std::stop_token set_handle::release_requested() const {
  if (!state_->locks->is_ours()) state_->locks->require_open();
  const annotated::lock held{state_->place.mutex};
  if (state_->kept) return state_->kept.release_requested();
  throw error{errc::not_owner, "this object holds nothing"};
}

bool set_handle::held() const noexcept {
  if (!state_->locks->is_ours()) return false;
  const annotated::lock held{state_->place.mutex};
  return state_->kept.held();
}

const std::vector<lock_spec>& set_handle::names() const noexcept { return state_->names; }

}  // namespace holdfast::detail
