#include "core/rest_request.hpp"

#include <chrono>
#include <utility>
#include <variant>

#include "core/translation.hpp"

namespace holdfast::tickets {

using store::released;
using store::time_point;

rest_request::step rest_request::resume(time_point now, std::uint64_t random, const store::event<reply>& e) {
  if (std::holds_alternative<store::woken>(e) && in_flight_) return end(released::unknown);
  if (std::holds_alternative<store::started>(e) || std::holds_alternative<store::woken>(e)) return send(now);
  const auto* const came = std::get_if<store::replied<reply>>(&e);
  if (came == nullptr) return {};
  in_flight_ = false;
  if (const auto* failed = std::get_if<store::request_error>(&came->outcome)) {
    doubted_ = doubted_ || failed->maybe_executed;
    return failed->retryable ? retry(now, random) : end(released::unknown);
  }
  const auto& said = std::get<reply>(came->outcome);
  const auto* const renewal = std::get_if<kept>(&said);
  if (renewal == nullptr) return end(release_result(said, doubted_));
  switch (renew_results(*renewal).at(0)) {
    case store::renewed::yes: return end(released::done);
    case store::renewed::lost: return end(doubted_ ? released::done : released::was_gone);
    case store::renewed::unknown: break;
  }
  return retry(now, random);
}

rest_request::step rest_request::send(time_point now) {
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

rest_request::step rest_request::retry(time_point now, std::uint64_t random) {
  const time_point next = now + pause_.next(random);
  if (next > give_up_) return end(released::unknown);
  step s;
  s.wake_at = next;
  return s;
}

rest_request::step rest_request::end(released outcome) {
  step s;
  s.answer = outcome;
  s.finished = true;
  return s;
}

}  // namespace holdfast::tickets
