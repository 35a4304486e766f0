// SPDX-License-Identifier: Apache-2.0
#include "simulation/transactions.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <string_view>

#include "holdfast/error.hpp"

namespace holdfast::sim {

using namespace std::chrono_literals;

namespace {

struct error_answer {
  errc code;
  std::string_view text;
  bool retryable;
  bool of_all;  // not of writes alone
};

/// Those that concern one transaction, for it came into another's way.
constexpr auto victims = std::to_array<error_answer>({
    {errc::unavailable, "40P01: deadlock detected", true, false},
    {errc::unavailable, "40001: could not serialize access due to concurrent update", true, false},
    {errc::unavailable, "1213: Deadlock found when trying to get lock; try restarting transaction", true,
     false},
    {errc::unavailable, "1205: Lock wait timeout exceeded; try restarting transaction", true, false},
    {errc::unavailable, "1020: Record has changed since last read", true, false},
});

/// Those of a server that is in trouble, or of one that was set up wrongly.
constexpr auto errors = std::to_array<error_answer>({
    {errc::exhausted, "53300: sorry, too many clients already", true, true},
    {errc::exhausted, "53100: could not extend file: No space left on device", true, false},
    {errc::unavailable, "57P03: the database system is starting up", true, true},
    {errc::unavailable, "25006: cannot execute UPDATE in a read-only transaction", true, false},
    {errc::permission_denied, "42501: permission denied for table holdfast_locks", false, true},
});

store::request_error request_error_of(const error_answer& r) {
  return {{r.code, std::string{r.text}}, r.retryable, false};
}

}  // namespace

void transaction_faults::begin(scene& in) {
  *this = {};
  in_ = &in;
}

void transaction_faults::heal() { refuses_until_ = contends_until_ = breaks_off_until_ = in_->now; }

void transaction_faults::refuse_until(instant when) {
  refuses_until_ = when;
  refusal_ = in_->chance.below(victims.size() + errors.size());
  refuses_one_in_ = 1 + in_->chance.below(3);
}

duration transaction_faults::wait() {
  if (in_->now >= contends_until_ || !in_->chance.one_in(3)) return {};
  return in_->chance.between(1ms, in_->chance.one_in(4) ? longest_wait : 20ms);
}

std::optional<store::request_error> transaction_faults::refusal(bool waited, bool writes) {
  randomness& chance = in_->chance;
  if (waited && chance.one_in(2)) return request_error_of(victims.at(chance.below(victims.size())));
  if (in_->now >= refuses_until_ || !chance.one_in(refuses_one_in_)) return std::nullopt;
  const auto& r = refusal_ < victims.size() ? victims.at(refusal_) : errors.at(refusal_ - victims.size());
  return r.of_all || writes ? std::optional{request_error_of(r)} : std::nullopt;
}

transaction_faults::fate transaction_faults::commit() {
  if (in_->now >= breaks_off_until_ || !in_->chance.one_in(3)) return fate::answered;
  return in_->chance.one_in(2) ? fate::committed_unheard : fate::undone_unheard;
}

bool is_victims(const store::request_error& t) {
  return std::any_of(victims.begin(), victims.end(),
                     [&](const auto& v) { return t.reason.message == v.text; });
}

}  // namespace holdfast::sim
