// SPDX-License-Identifier: Apache-2.0
#include "holdfast/detail/set_handle.hpp"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include "api/access.hpp"
#include "api/claims.hpp"
#include "api/ends.hpp"
#include "api/start.hpp"
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
  std::vector<store::claim> patterns;  // of each call's claims, in that order
  std::string attempt;                 // the beginning of errors: "cannot lock 'a' and 'b' on redis://host"
  lock_options options;

  vacancy place;
  lease_set kept HOLDFAST_GUARDED_BY(place.mutex);
  std::thread::id locked_by HOLDFAST_GUARDED_BY(place.mutex);  // what is kept

  [[nodiscard]] std::vector<store::claim> claims(bool waits) const {
    auto all = patterns;
    for (store::claim& each : all) each.wait = waits;
    return all;
  }
  [[nodiscard]] std::optional<lease_set> acquire(const acquiring& call) const;
};

namespace {

/// The leases in the order in which the user gave the names.
lease_set leases_of(const std::vector<std::size_t>& order,
                    std::vector<lease_core::lease_record_ptr> in_order) {
  std::vector<lease> leases(order.size());
  for (std::size_t each = 0; each < order.size(); ++each) {
    leases[order[each]] = lease_access::make(std::move(in_order[each]));
  }
  return set_access::make(std::move(leases));
}

}  // namespace

std::optional<lease_set> set_handle::state::acquire(const acquiring& call) const {
  locks->require_open();
  if (call.stop.stop_requested()) return std::nullopt;
  auto records = acquired(locks->wait<lease_core::set_taken>(
                              [&, all = claims(call.waits())](const auto& with, auto done) {
                                return with.sets.acquire(all, with.end_of(call.limit), std::move(done));
                              },
                              call.stop),
                          call, attempt);
  if (!records) return std::nullopt;
  return leases_of(order, std::move(*records));
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
  s.names = std::move(names);
  for (std::size_t each = 0; each < s.names.size(); ++each) {
    static_cast<void>(lock_name{s.names[each].name()});  // throws where it is none
    if (s.names[each].mode() == mode::permits) checked_capacity(s.names[each].capacity());
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
  const auto metadata = metadata_for(*s.locks, s.options);
  for (const std::size_t each : s.order) {
    const lock_spec& spec = s.names[each];
    s.patterns.push_back(with_options({.name = spec.name(),
                                       .mode = spec.mode(),
                                       .permits = spec.count(),
                                       .capacity = spec.capacity(),
                                       .shareable = spec.is_shareable()},
                                      s.options, metadata));
    check_permits(s.patterns.back());
  }
}

set_handle::~set_handle() {
  // As of a handle: the waiting threads of a condition variable do not exist in a child after fork().
  if (!state_->locks->is_ours()) {
    [[maybe_unused]] const state* const left_alone = state_.release();
  }
}

std::optional<lease_set> set_handle::acquire(std::optional<duration> limit, const std::stop_token& stop) {
  return state_->acquire({limit, state_->options, stop});
}

pending set_handle::async_acquire(std::optional<duration> limit, std::unique_ptr<completion> handler) {
  return start_or_complete(std::move(handler), [&](const std::shared_ptr<completion>& shared) {
    const state& s = *state_;
    s.locks->require_open();
    const acquiring call{limit, s.options};
    return s.locks->start<lease_core::set_taken>(
        [&, all = s.claims(call.waits())](const auto& with, auto done) {
          return with.sets.acquire(all, with.end_of(call.limit), std::move(done));
        },
        // The lock object may be destroyed before the operation has ended.
        completing<std::vector<lease_core::lease_record_ptr>>(
            shared, s.attempt,
            [order = s.order](std::vector<lease_core::lease_record_ptr> records) {
              return outcome{{}, {}, {}, leases_of(order, std::move(records))};
            },
            call.may_be_empty),
        shared->is_internal());
  });
}

bool set_handle::lock(std::optional<duration> limit, const std::stop_token& stop) {
  state& s = *state_;
  s.locks->require_open();  // before the mutex is touched, which a child may have inherited locked
  return s.place.lock(
      *s.locks, {limit, s.options, stop},
      [&] {
        s.place.mutex.assert_locked();
        if (s.kept && !s.kept.held() && s.locked_by == std::this_thread::get_id()) {
          throw error{errc::lost,
                      s.attempt +
                          ": this thread has locked the object, and a hold of it was lost; unlock it "
                          "first, also what is lost"};
        }
        return !s.kept;
      },
      [&](const acquiring& call) { return s.acquire(call); },
      [&](lease_set granted) {
        s.place.mutex.assert_locked();
        s.kept = std::move(granted);
        s.locked_by = std::this_thread::get_id();
      },
      [&] {
        return error{errc::timeout,
                     s.attempt + ": another user of this object had it locked for the whole wait limit"};
      });
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
