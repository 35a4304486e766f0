#pragma once

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "api/client_core.hpp"
#include "base/exceptions.hpp"

// How the calls of a client_core wait for the ends of operations: templates, for its sources.

namespace holdfast::detail {

/// The result of a blocked caller. Shared, because the thread that wakes the caller may still use it when the
/// caller has returned.
template <class Result>
struct slot {
  store::caller blocked;
  std::optional<Result> value;
};

/// Starts an operation and performs I/O for the store until the operation has its result.
/// \param cancel is called after a request of `stop`, with the return value of `start`.
template <class Result, class Start, class Cancel>
Result client_core::wait_for(Start start, const std::stop_token& stop, Cancel cancel) {
  const auto result = std::make_shared<slot<Result>>();
  op_id id = 0;
  {
    const runtime::core_lock now{parts_->loop, true};
    id = start([this, result](Result r) {
      result->value = std::move(r);
      try {
        parts_->loop.defer([result] { result->blocked.serve(); });
      } catch (const std::exception&) {  // out of memory
        result->blocked.serve();
      }
    });
  }
  try {
    // Without the core lock, which cancelling takes.
    const std::stop_callback stopped{stop, [&] { cancel(id); }};
    parts_->store->help(result->blocked);
  } catch (...) {  // out of memory; nobody reads the result
    contain_exceptions([&] { cancel(id); });
    contain_exceptions([&] {
      const runtime::core_lock now{parts_->loop};
      if (result->value) discard(*result->value);
    });
    throw;
  }
  return std::move(*result->value);
}

/// Releases the leases of a result that nobody reads.
template <class Result>
void client_core::discard(const Result& result) {
  const auto release_unused = [this](const lease_core::lease_record_ptr& lease) {
    parts_->loop.assert_core_locked();
    lease->is_unused = true;
    parts_->leases->release(lease, nullptr);
  };
  if constexpr (std::is_same_v<Result, lease_core::taken>) {
    if (const auto* const one = std::get_if<lease_core::lease_record_ptr>(&result)) release_unused(*one);
  } else if constexpr (std::is_same_v<Result, lease_core::set_taken>) {
    const auto* const all = std::get_if<std::vector<lease_core::lease_record_ptr>>(&result);
    if (all != nullptr) std::for_each(all->begin(), all->end(), release_unused);
  }
}

template <class Result, class Start>
Result client_core::wait_for(Start start) {
  return wait_for<Result>(
      [&](auto handler) {
        start(std::move(handler));
        return op_id{0};
      },
      std::stop_token{}, [](op_id) {});
}

template <class Value, class Start>
client_core::op_id client_core::start_asking(std::function<void(store::answer<Value>)> handler, Start start) {
  const runtime::core_lock now{parts_->loop};
  if (closed_) {
    outside(std::move(handler))(store::answer<Value>{failure{errc::closed, "the client was closed"}});
    return 0;
  }
  const auto value = std::make_shared<Value>();
  const op_id id = add_wait([value, handler = std::move(handler)](std::optional<failure> failed) {
    if (failed) return handler(std::move(*failed));
    handler(std::move(*value));
  });
  start([this, id, value](store::answer<Value> answer) {
    parts_->loop.assert_core_locked();
    if (auto* const failed = std::get_if<failure>(&answer)) return end_wait(id, std::move(*failed));
    *value = std::get<Value>(std::move(answer));
    end_wait(id, std::nullopt);
  });
  return id;
}

template <class Function>
auto client_core::outside(Function action) {
  return [this, action = std::move(action)](auto value) {
    std::shared_ptr<decltype(value)> result;  // of its own: a result that is not handed over is still here
    try {
      result = std::make_shared<decltype(value)>(std::move(value));
      parts_->loop.defer_signal([action, result] { action(std::move(*result)); });
    } catch (...) {  // out of memory; nobody reads the result
      parts_->loop.assert_core_locked();
      discard(result ? *result : value);
      throw;
    }
  };
}

}  // namespace holdfast::detail
