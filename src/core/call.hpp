// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <utility>
#include <variant>

#include "core/backoff.hpp"
#include "core/machine.hpp"
#include "core/request.hpp"

namespace holdfast::tickets {

/// How long a call goes on.
struct limits {
  store::time_point last_try;   // no try begins later; at least one is made
  store::time_point answer_by;  // no answer is waited for any longer

  limits(store::time_point until)  // NOLINT(google-explicit-constructor)
      : last_try{until}, answer_by{until} {}
  limits(store::time_point tries, store::time_point answers) : last_try{tries}, answer_by{answers} {}
};

/// What a reply means to the call: its result, or
struct part {  // that it is a part of the result, and the next request asks for more;
  bool progress = true;
};
struct no_answer {};  // that it decides nothing, and may have been carried out: the call tries again.
template <class Result>
using verdict = std::variant<Result, part, no_answer>;

/// The machine of every operation that is one request and one reply, and that may safely be carried out
/// twice: send, retry after retryable errors, give up at a time given, also while an answer is due. What is
/// asked, and what the replies mean, is the question's:
///
///     struct question {
///       using result = ...;
///       request next(time_point now);                                    // of each try
///       verdict<result> read(const reply&, time_point sent, bool doubted);  // doubted: an earlier try may
///                                                        // have been carried out, so "not there" is its doing
///       result give_up(const request_error&);
///       static bool outlasts(const failure& refusal);
///     };
///
/// An operation may also be several such requests, each made of the reply before. Each reply that makes
/// progress begins the patience anew: a store that answers is not given up because the operation is long.
/// Nothing is sent after the operation has been given up.
///
/// A store that refuses may change its mind: rights come back. A question that outlasts the refusal is
/// answered at once, and asked again in the background; nobody who closes the client waits for that.
template <class Question>
class call {
 public:
  using result = typename Question::result;
  using step = store::actions<request, result>;

  call(Question&& asks, const retry_policy& policy, limits until)
      : question_{std::move(asks)}, pause_{policy}, until_{until} {}

  [[nodiscard]] step resume(store::time_point now, std::uint64_t random, const store::event<reply>& e) {
    if (std::holds_alternative<store::woken>(e) && in_flight_) return give_up();
    if (std::holds_alternative<store::started>(e))
      patience_ = std::chrono::ceil<duration>(until_.answer_by - now);
    if (std::holds_alternative<store::started>(e) || std::holds_alternative<store::woken>(e))
      return send(now);
    const auto* const came = std::get_if<store::replied<reply>>(&e);
    if (came == nullptr) return {};
    in_flight_ = false;
    if (const auto* failed = std::get_if<store::request_error>(&came->outcome))
      return fail(now, random, *failed);
    auto said = question_.read(std::get<reply>(came->outcome), sent_, doubted_);
    if (const auto* more = std::get_if<part>(&said)) return go_on(now, *more);
    if (std::holds_alternative<no_answer>(said)) return fail(now, random, store::no_answer());
    return end(std::get<result>(std::move(said)));
  }

 private:
  step send(store::time_point now) {
    sent_ = now;
    in_flight_ = true;
    step s;
    s.send = question_.next(now);
    if (until_.answer_by > now) s.wake_at = until_.answer_by;
    return s;
  }
  step go_on(store::time_point now, part received) {
    if (received.progress) {
      until_ = limits{now + patience_};
      pause_.reset();
    }
    return now > until_.answer_by ? give_up() : send(now);
  }
  step fail(store::time_point now, std::uint64_t random, store::request_error t) {
    doubted_ = doubted_ || t.maybe_executed;
    t.maybe_executed = doubted_;  // that the last try was in vain says nothing about those before
    if (!trouble_ || !t.is_unsent) trouble_ = t.reason;
    t.reason = *trouble_;
    const bool goes_on = t.retryable || Question::outlasts(t.reason);
    const store::time_point next = goes_on ? now + pause_.next(random) : now;
    if (!goes_on || next > until_.last_try) return end(question_.give_up(t));
    step s;
    s.wake_at = next;
    if (!t.retryable) {
      s.in_vain = true;
      if (!std::exchange(refused_, true)) s.answer = question_.give_up(t);
    }
    return s;
  }
  step give_up() { return end(question_.give_up(store::no_answer())); }
  static step end(result r) {
    step s;
    s.answer = std::move(r);
    s.finished = true;
    return s;
  }

  Question question_;
  store::backoff pause_;
  limits until_;
  duration patience_{};  // with an operation of several requests, for each
  store::time_point sent_;
  std::optional<failure> trouble_;  // of the last try that was made
  bool in_flight_ = false;
  bool doubted_ = false;
  bool refused_ = false;
};

}  // namespace holdfast::tickets
