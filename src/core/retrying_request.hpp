#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <variant>

#include "core/backoff.hpp"
#include "core/machine.hpp"

namespace holdfast::store {

/// How long an operation goes on.
struct limits {
  time_point last_try;   // no try begins later; at least one is made
  time_point answer_by;  // no answer is waited for any longer

  limits(time_point until) : last_try{until}, answer_by{until} {}  // NOLINT(google-explicit-constructor)
  limits(time_point tries, time_point answers) : last_try{tries}, answer_by{answers} {}
};

/// The next request of an operation that takes several, one after the other.
template <class Request>
struct continuation {
  Request request;
  bool progress = true;  // made by the request before
};

/// The machine of every operation that is one request and one reply, and that may safely be carried out
/// twice: send, retry after retryable errors, give up at a time given, also while an answer is due.
///
/// An operation may also be several such requests, each made of the reply before. Each reply that makes
/// progress begins the patience anew: a store that answers is not given up because the operation is long.
/// Nothing is sent after the operation has been given up.
template <class Request, class Reply, class Result>
class retrying_request {
 public:
  /// \param doubted an earlier try may have been carried out, so "not there" may be its doing.
  using read = std::function<Result(const Reply&, time_point sent, bool doubted)>;
  using give_up = std::function<Result(const request_error&)>;
  using follow = std::function<std::optional<continuation<Request>>(const Reply&)>;
  using step = actions<Request, Result>;

  /// \param on_part null: there is one request alone.
  retrying_request(Request request, const retry_policy& policy, limits until, read on_reply,
                   give_up on_failure, follow on_part = nullptr)
      : request_{std::move(request)},
        pause_{policy},
        until_{until},
        read_{std::move(on_reply)},
        give_up_{std::move(on_failure)},
        follow_{std::move(on_part)} {}

  [[nodiscard]] step resume(time_point now, std::uint64_t random, const event<Reply>& e) {
    if (std::holds_alternative<woken>(e) && in_flight_) return end(give_up_(no_answer()));
    if (std::holds_alternative<started>(e)) patience_ = std::chrono::ceil<duration>(until_.answer_by - now);
    if (std::holds_alternative<started>(e) || std::holds_alternative<woken>(e)) return send(now);
    const auto* reply = std::get_if<replied<Reply>>(&e);
    if (reply == nullptr) return {};
    in_flight_ = false;
    if (const auto* failed = std::get_if<request_error>(&reply->outcome)) return retry(now, random, *failed);
    if (follow_) {
      if (auto next = follow_(std::get<Reply>(reply->outcome))) return go_on(now, std::move(*next));
    }
    return end(read_(std::get<Reply>(reply->outcome), sent_, doubted_));
  }

 private:
  step send(time_point now) {
    sent_ = now;
    in_flight_ = true;
    step s;
    s.send = request_;
    if (until_.answer_by > now) s.wake_at = until_.answer_by;
    return s;
  }
  step go_on(time_point now, continuation<Request> next) {
    if (next.progress) {
      until_ = limits{now + patience_};
      pause_.reset();
    }
    if (now > until_.answer_by) return end(give_up_(no_answer()));
    request_ = std::move(next.request);
    return send(now);
  }
  step retry(time_point now, std::uint64_t random, request_error t) {
    doubted_ = doubted_ || t.maybe_executed;
    t.maybe_executed = doubted_;  // that the last try was in vain says nothing about those before
    const time_point next = now + pause_.next(random);
    if (!t.retryable || next > until_.last_try) return end(give_up_(t));
    step s;
    s.wake_at = next;
    return s;
  }
  static step end(Result result) {
    step s;
    s.answer = std::move(result);
    s.finished = true;
    return s;
  }

  Request request_;
  backoff pause_;
  limits until_;
  duration patience_{};  // with an operation of several requests, for each
  time_point sent_;
  bool in_flight_ = false;
  bool doubted_ = false;
  read read_;
  give_up give_up_;
  follow follow_;
};

}  // namespace holdfast::store
