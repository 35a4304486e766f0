#include "core/end_of_hold.hpp"

#include <chrono>
#include <system_error>
#include <utility>
#include <variant>

#include "core/translation.hpp"
#include "holdfast/error.hpp"

namespace holdfast::tickets {

using store::released;
using store::time_point;

namespace {

/// Whether a refusal may be taken back: of rights, or by a server for a reason of its own. What is no lock of
/// ours any more has ended the hold.
bool may_pass(const std::error_code& code) {
  return code == errc::permission_denied || code == errc::unavailable;
}

}  // namespace

end_of_hold::step end_of_hold::resume(time_point now, std::uint64_t random, const store::event<reply>& e) {
  if (std::holds_alternative<store::woken>(e) && in_flight_) return end(released::unknown);
  if (std::holds_alternative<store::started>(e) || std::holds_alternative<store::woken>(e)) return send(now);
  const auto* const came = std::get_if<store::replied<reply>>(&e);
  if (came == nullptr) return {};
  in_flight_ = false;
  if (const auto* failed = std::get_if<store::request_error>(&came->outcome))
    return fail(now, random, *failed);
  const auto& said = std::get<reply>(came->outcome);
  const auto* const renewal = std::get_if<kept>(&said);
  if (renewal == nullptr) return end(release_result(said, doubted_));
  switch (renew_results(*renewal).at(0)) {
    case store::renewed::yes: return end(released::done);
    case store::renewed::lost: return end(doubted_ ? released::done : released::was_gone);
    case store::renewed::unknown: doubted_ = true; break;
  }
  return retry(now, random);
}

end_of_hold::step end_of_hold::send(time_point now) {
  in_flight_ = true;
  step s;
  if (now < until_) {
    store::hold resting = hold_;
    resting.ttl = std::chrono::ceil<duration>(until_ - now);
    s.send = renew_request({std::move(resting)});
    s.send->is_last = true;
  } else {
    s.send = release_request(hold_);
  }
  if (give_up_ > now) s.wake_at = give_up_;
  return s;
}

end_of_hold::step end_of_hold::fail(time_point now, std::uint64_t random,
                                    const store::request_error& reason) {
  doubted_ = doubted_ || reason.maybe_executed;
  if (reason.retryable) return retry(now, random);
  if (!may_pass(reason.reason.code)) return end(released::unknown);
  step s = retry(now, random);
  if (!std::exchange(refused_, true)) s.answer = released::unknown;
  s.in_vain = true;
  return s;
}

end_of_hold::step end_of_hold::retry(time_point now, std::uint64_t random) {
  const time_point next = now + pause_.next(random);
  if (next > give_up_) return end(released::unknown);
  step s;
  s.wake_at = next;
  return s;
}

end_of_hold::step end_of_hold::end(released outcome) {
  step s;
  s.answer = outcome;
  s.finished = true;
  return s;
}

}  // namespace holdfast::tickets
