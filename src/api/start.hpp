// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <variant>

#include "api/client_core.hpp"

// How calls start the operations of a client_core: its templates, for the sources of the public types.

namespace holdfast::detail {

template <class Result>
inline constexpr bool is_answer = false;
template <class Value>
inline constexpr bool is_answer<store::answer<Value>> = true;

/// Somebody who waits for the end of an operation that goes on without them.
template <class Result>
class client_core::waiting final : public lease_core::operation {
 public:
  explicit waiting(store::handler<Result> done) : done_{std::move(done)} {}
  void end(Result&& result) {
    if (done_) std::exchange(done_, nullptr)(std::move(result));
  }
  void cancel(failure reason) override { end(Result{std::move(reason)}); }
  void close(failure /*reason*/) override {
  }  // it ends while the client is closing, or when that takes too long

 private:
  store::handler<Result> done_;
};

/// The result of a blocked caller. The thread that wakes the caller may still use it when the caller has
/// returned: each of them has one of the references.
template <class Result>
struct slot {
  store::caller blocked;
  std::optional<Result> value;
  std::shared_ptr<slot> of_waker;
};

template <class Result, class Begin>
client_core::op_id client_core::begin_with(const Begin& begin, store::handler<Result> done) noexcept {
  if constexpr (is_answer<Result>) {
    if (closed_) {
      done(failure{errc::closed, "the client was closed"});
      return 0;
    }
  }
  using returned = std::invoke_result_t<const Begin&, const engine&, store::handler<Result>>;
  if constexpr (std::is_void_v<returned>) {
    begin(parts_of_an_operation(), std::move(done));
    return 0;
  } else {
    return begin(parts_of_an_operation(), std::move(done));
  }
}

template <class Result, class Begin>
Result client_core::wait(const Begin& begin, const std::stop_token& stop) {
  const auto result = std::make_shared<slot<Result>>();
  result->of_waker = result;
  op_id id = 0;
  {
    const runtime::core_lock now{parts_->loop, true};
    id = begin_with<Result>(begin, [to = result.get()](Result&& r) {
      to->value = std::move(r);
      const auto until_served = std::move(to->of_waker);
      to->blocked.serve();
    });
  }
  // Without the core lock, which cancelling takes.
  const std::stop_callback stopped{stop, [&] { cancel(id); }};
  parts_->link->help(result->blocked);
  return std::move(*result->value);
}

template <class Result>
store::handler<Result> client_core::outside(std::function<void(Result)> done, bool is_internal) {
  return [this, is_internal, done = std::move(done)](Result&& result) {
    parts_->loop.assert_core_locked();
    auto action = [done, shared = std::make_shared<Result>(std::move(result))] { done(std::move(*shared)); };
    if (is_internal) {
      parts_->loop.defer(std::move(action));
    } else {
      parts_->loop.defer_signal(std::move(action));
    }
  };
}

template <class Result, class Begin>
pending client_core::start(const Begin& begin, std::function<void(Result)> done, bool is_internal) {
  if (!is_ours()) {
    done(Result{failure{errc::closed, "the client belongs to the parent process"}});
    return {};
  }
  const runtime::core_lock now{parts_->loop, is_internal};
  auto later = outside<Result>(std::move(done), is_internal);
  using returned = std::invoke_result_t<const Begin&, const engine&, store::handler<Result>>;
  if constexpr (std::is_void_v<returned>) {
    const op_id id = parts_->operations.next_id();
    const auto waits = std::make_shared<waiting<Result>>(std::move(later));
    parts_->operations.add(id, waits);
    begin_with<Result>(begin, [this, id, waits](Result&& result) {
      parts_->loop.assert_core_locked();
      parts_->operations.remove(id);
      waits->end(std::move(result));
    });
    return {weak_from_this(), id};
  } else {
    return {weak_from_this(), begin_with<Result>(begin, std::move(later))};
  }
}

}  // namespace holdfast::detail
