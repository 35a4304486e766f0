// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/failure.hpp"
#include "core/claim.hpp"
#include "holdfast/error.hpp"

namespace holdfast::store {

/// Why a request has no reply.
struct request_error {
  failure reason;
  bool retryable = false;       // worth another try
  bool maybe_executed = false;  // it may have been carried out all the same
  bool granted = false;         // of a claim: it is granted there, and must not be believed yet
  bool is_unsent = false;       // it was taken back: the error of an earlier try, if there is one, says more
};

/// The store has not answered within the time limit.
[[nodiscard]] inline request_error no_answer() {
  return {{errc::unavailable, "the store does not answer"}, true, true};
}

/// The request has waited to be sent, until nobody waits for its answer any more.
[[nodiscard]] inline request_error unsent(failure reason) {
  return {std::move(reason), true, false, false, true};
}

/// The claim holds. It may be believed for one ttl from `valid_from`, the moment at which the request was
/// sent that the store answered: the store began to count later than that.
struct granted {
  fencing_token token;
  time_point valid_from;
  bool is_notified = false;  // a notification proved it, and no request of the client has been answered since
};
/// Another client holds, and the claim does not wait. Nothing is left at the store.
struct refused {
  bool is_unasked = false;  // another client holds the name of a claim that began together with this one
};

/// How an acquisition ends.
using acquired = std::variant<granted, refused, failure>;

/// How a renewal ends; never a bool, because "no answer" is neither yes nor no.
enum class renewed : std::uint8_t { yes, lost, unknown };

struct renewals {
  time_point sent;
  std::vector<renewed> each;  // in the order of the holds
};

/// How a release or a withdrawal ends.
enum class released : std::uint8_t {
  done,
  was_gone,  // the store no longer had it
  unknown,   // no answer until its ttl had surely ended it
};

template <class Value>
using answer = std::variant<Value, failure>;

using inspected = answer<std::optional<lock_state>>;
using listed = answer<std::vector<lock_summary>>;
using forced = answer<std::size_t>;
using notified = answer<std::size_t>;
using lowered = std::optional<failure>;
using annotated = std::optional<failure>;

}  // namespace holdfast::store
