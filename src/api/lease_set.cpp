#include "holdfast/lease_set.hpp"

#include <algorithm>
#include <stop_token>
#include <string>
#include <utility>

#include "api/access.hpp"
#include "api/start.hpp"
#include "holdfast/error.hpp"
#include "runtime/process.hpp"

namespace holdfast {

struct lease_set::state {
  std::vector<lease> leases;
  std::stop_source lost;
  std::stop_source release_requested;

  [[nodiscard]] std::vector<lease_core::lease_record_ptr> records() const {
    std::vector<lease_core::lease_record_ptr> all;
    all.reserve(leases.size());
    for (const lease& each : leases) all.push_back(detail::lease_access::record(each));
    return all;
  }
  /// They have been released.
  void forget() {
    for (lease& each : leases) static_cast<void>(detail::lease_access::take(std::move(each)));
  }
};

lease_set::lease_set() noexcept = default;
lease_set::lease_set(lease_set&&) noexcept = default;

lease_set::lease_set(std::vector<lease> leases) : state_{new state{std::move(leases), {}, {}}} {
  const auto records = state_->records();
  if (const auto core = detail::client_of(records.front())) {
    core->share_signals(records, state_->lost, state_->release_requested);
  }
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
  if (const auto core = detail::client_of(records.front())) core->drop(records);
  state_->forget();
}

bool lease_set::is_ours() const noexcept {
  return detail::lease_access::record(state_->leases.front())->generation == runtime::process_generation();
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
  return state_->lost.get_token();
}

std::stop_token lease_set::release_requested() const {
  return state_ && is_ours() ? state_->release_requested.get_token() : std::stop_token{};
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
  const auto core = detail::client_of(records.front());
  // Leases that outlived their client were lost when it was closed.
  if (!core) return errc::lost;
  const auto ended = core->wait<std::error_code>([&](const auto& with, auto done) {
    struct round {
      store::handler<std::error_code> done;
      std::size_t answers_due = 0;
      std::error_code worst{};
    };
    const auto answers = std::make_shared<round>(round{std::move(done), records.size()});
    with.leases.together([&] {
      for (const auto& each : records) {
        core->release(with, each, [answers](std::error_code code) {
          if (!answers->worst || code == errc::lost) answers->worst = code;
          if (--answers->answers_due == 0) answers->done(answers->worst);
        });
      }
    });
  });
  released->forget();
  return ended;
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
