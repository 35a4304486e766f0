// SPDX-License-Identifier: Apache-2.0
#include "holdfast/lease_set.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <utility>

#include "api/access.hpp"
#include "api/releases.hpp"
#include "api/start.hpp"
#include "holdfast/error.hpp"
#include "runtime/process.hpp"

namespace holdfast {

using lease_core::lease_record;
using lease_core::lease_record_ptr;

struct lease_set::state {
  std::vector<lease> leases;
  lease_record::set_signals signals{};

  [[nodiscard]] std::vector<lease_record_ptr> records() const {
    std::vector<lease_record_ptr> all;
    all.reserve(leases.size());
    for (const lease& each : leases) all.push_back(detail::lease_access::record(each));
    return all;
  }
  /// They have been released.
  void forget() {
    for (lease& each : leases) static_cast<void>(detail::lease_access::take(std::move(each)));
  }
};

namespace {

/// Leases of one client that stand next to one another in a set.
struct leases_of_client {
  std::shared_ptr<detail::client_core> core;  // null: it has gone
  std::span<const lease_record_ptr> leases;
};

/// The last ones first, as they are released.
std::vector<leases_of_client> by_client(std::span<const lease_record_ptr> records) {
  std::vector<leases_of_client> all;
  auto end = records.size();
  for (auto each = records.size(); each-- > 0;) {
    auto core = detail::client_of(records[each]);
    if (all.empty() || all.back().core != core) {
      end = each + 1;
      all.push_back({std::move(core), {}});
    }
    all.back().leases = records.subspan(each, end - each);
  }
  return all;
}

std::error_code release_together(const leases_of_client& all) {
  // Leases that outlived their client were lost when it was closed.
  if (!all.core) return errc::lost;
  return all.core->wait<std::error_code>(detail::release_of(*all.core, all.leases));
}

/// From now on the leases stop the set's signals, too. A loss must not be missed for lack of memory, so that
/// ends the process.
void share(std::span<const lease_record_ptr> records, const lease_record::set_signals& signals) noexcept {
  for (const auto& each : by_client(records)) {
    if (each.core) {
      each.core->share_signals(each.leases, signals);
    } else {
      std::stop_source{signals.lost}.request_stop();
    }
  }
}

}  // namespace

lease_set::lease_set() noexcept = default;
lease_set::lease_set(lease_set&&) noexcept = default;

lease_set::lease_set(std::vector<lease> leases) : state_{new state{std::move(leases)}} {
  share(state_->records(), state_->signals);
}

lease_set& lease_set::operator=(lease_set&& other) noexcept {
  const lease_set old{std::move(*this)};  // released at the end of this call
  state_ = std::move(other.state_);
  return *this;
}

lease_set::~lease_set() {
  if (!state_) return;
  if (!is_ours()) {
    // A thread of the parent may have locked the stop states for ever.
    [[maybe_unused]] const state* const left_alone = state_.release();
    return;
  }
  const auto records = state_->records();
  for (const auto& each : by_client(records)) {
    if (each.core) each.core->drop(each.leases);
  }
  state_->forget();
}

void lease_set::add(lease later) {
  const auto& record = detail::lease_access::record(later);
  if (!record) throw error{errc::not_owner, "lease_set::add: the lease holds nothing"};
  if (record->client->generation != runtime::process_generation()) {
    throw error{errc::closed,
                "lease_set::add: the lease of '" + later.name() + "' belongs to the parent process"};
  }
  std::vector<lease> one;
  one.push_back(std::move(later));
  add(lease_set{std::move(one)});
}

void lease_set::add(lease_set later) {
  if (!later.state_) throw error{errc::not_owner, "lease_set::add: the set that is added holds nothing"};
  if (!later.is_ours() || (state_ && !is_ours()))
    throw error{errc::closed, "lease_set::add: one of the sets belongs to the parent process"};
  if (!state_) {
    state_ = std::move(later.state_);
    return;
  }
  const auto records = later.state_->records();
  state_->leases.reserve(state_->leases.size() + records.size());
  const auto added = std::move(later.state_);
  std::move(added->leases.begin(), added->leases.end(), std::back_inserter(state_->leases));
  share(records, state_->signals);
}

bool lease_set::is_ours() const noexcept {
  return detail::lease_access::record(state_->leases.front())->client->generation ==
         runtime::process_generation();
}

bool lease_set::held() const noexcept {
  return state_ && std::all_of(state_->leases.begin(), state_->leases.end(),
                               [](const lease& each) { return each.held(); });
}

boot_clock::time_point lease_set::deadline() const noexcept {
  if (!state_) return {};
  auto earliest = boot_clock::time_point::max();
  for (const lease& each : state_->leases) earliest = std::min(earliest, each.deadline());
  return earliest;
}

duration lease_set::remaining() const noexcept {
  if (!state_) return duration::zero();
  auto least = duration::max();
  for (const lease& each : state_->leases) least = std::min(least, each.remaining());
  return least;
}

std::stop_token lease_set::lost() const noexcept {
  if (!state_ || !is_ours()) return lease{}.lost();
  // After a long pause this call may come before the signals.
  for (const lease& each : state_->leases) {
    if (const auto fired = each.lost(); fired.stop_requested()) return fired;
  }
  return state_->signals.lost.get_token();
}

std::stop_token lease_set::release_requested() const {
  return state_ && is_ours() ? state_->signals.release_requested.get_token() : std::stop_token{};
}

std::optional<std::string> lease_set::release_request() const {
  for (const lease& each : leases()) {
    if (auto reason = each.release_request()) return reason;
  }
  return std::nullopt;
}

const lease* lease_set::lost_lease() const noexcept {
  for (const lease& each : leases()) {
    if (each.loss()) return &each;
  }
  return nullptr;
}

std::span<const lease> lease_set::leases() const noexcept {
  if (!state_) return {};
  return state_->leases;
}

fencing_token lease_set::token(std::string_view name) const {
  for (const lease& each : leases()) {
    if (each.name() == name) return each.token();
  }
  throw error{errc::not_owner, "the set does not hold '" + std::string{name} + "'"};
}

std::error_code lease_set::release() noexcept {
  if (!state_) return errc::not_owner;
  if (!is_ours()) return errc::closed;
  const auto released = std::move(state_);
  const auto records = released->records();
  const auto clients = by_client(records);
  if (clients.size() > 1) {
    // The last ones are still held while the first are released, and may be lost meanwhile.
    for (const auto& each : clients) {
      if (each.core) each.core->forget_sets(each.leases);
    }
  }
  std::error_code worst;
  for (const auto& each : clients) worst = detail::worse_of(worst, release_together(each));
  released->forget();
  return worst;
}

renewal lease_set::renew() noexcept {
  if (!state_) return renewal::lost;
  auto worst = renewal::renewed;
  for (lease& each : state_->leases) {
    const renewal result = each.renew();
    if (result == renewal::lost || worst == renewal::renewed) worst = result;
  }
  return worst;
}

}  // namespace holdfast
