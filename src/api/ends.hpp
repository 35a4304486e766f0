// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>

#include "api/client_core.hpp"
#include "core/claim.hpp"
#include "core/results.hpp"
#include "holdfast/detail/handle.hpp"
#include "holdfast/error.hpp"
#include "lease/lease_manager.hpp"

// What operations end with: a value, or an error whose message begins with the attempt.

namespace holdfast::detail {

/// "cannot lock 'stock/sku-42' on sqlite:/var/lib/app.db: the disk is full"
[[nodiscard]] inline error explained(const failure& reason, const std::string& attempt) {
  return {reason.code, attempt + ": " + reason.message};
}

/// \throws holdfast::error.
template <class Value>
[[nodiscard]] Value value_of(store::answer<Value> answer, const std::string& attempt) {
  if (const auto* const reason = std::get_if<failure>(&answer)) throw explained(*reason, attempt);
  return std::get<Value>(std::move(answer));
}

/// How a call acquires.
struct acquiring {
  std::optional<duration> limit;  // of the call, or else of the options; empty: none
  bool may_be_empty = false;      // the call has a limit of its own
  std::stop_token stop{};         // of a call that blocks

  acquiring(std::optional<duration> own, const lock_options& options, std::stop_token stops = {})
      : limit{own ? own : options.wait_limit()}, may_be_empty{own}, stop{std::move(stops)} {}
  [[nodiscard]] bool waits() const { return limit != duration::zero(); }
};

/// What starts the acquisition of a claim: see client_core::wait.
[[nodiscard]] inline auto acquisition_of(store::claim_ptr claim, const acquiring& call) {
  return [claim = std::move(claim), limit = call.limit](const client_core::engine& with,
                                                        store::handler<lease_core::taken> done) {
    return with.leases.acquire(claim, with.end_of(limit), std::move(done));
  };
}

/// The value of an acquisition; empty if others hold the name for all of the call's own limit, or the call
/// was stopped. \throws holdfast::error.
template <class Value>
[[nodiscard]] std::optional<Value> acquired(store::answer<Value> answer, const acquiring& call,
                                            const std::string& attempt) {
  if (const auto* const reason = std::get_if<failure>(&answer)) {
    const bool is_stopped = reason->code == errc::cancelled && call.stop.stop_requested();
    if (is_stopped || (call.may_be_empty && lease_core::is_refusal(*reason))) return std::nullopt;
  }
  return value_of(std::move(answer), attempt);
}

/// The handler of an answer that completes an asynchronous operation.
/// \param make makes the outcome of the value.
template <class Value, class Make>
[[nodiscard]] std::function<void(store::answer<Value>)> completing(std::shared_ptr<completion> handler,
                                                                   std::string attempt, Make make,
                                                                   bool may_be_empty = false) {
  return [handler = std::move(handler), attempt = std::move(attempt), make = std::move(make),
          may_be_empty](store::answer<Value> answer) {
    if (auto* const value = std::get_if<Value>(&answer)) return handler->complete(make(std::move(*value)));
    const auto& reason = std::get<failure>(answer);
    if (may_be_empty && lease_core::is_refusal(reason)) return handler->complete({});
    handler->complete({reason.code, attempt + ": " + reason.message, {}});
  };
}

/// Starts an asynchronous operation. The operation also completes with the errors of its arguments.
/// \param start is called as `pending start(std::shared_ptr<completion>)`.
template <class Start>
pending start_or_complete(std::unique_ptr<completion> handler, Start start) {
  const std::shared_ptr<completion> shared{std::move(handler)};
  try {
    return start(shared);
  } catch (const error& reason) {
    shared->complete({reason.code(), reason.detail(), {}});
    return {};
  }
}

}  // namespace holdfast::detail
