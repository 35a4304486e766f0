// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/execution/executor.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/system/error_code.hpp>
#include <boost/version.hpp>
#if BOOST_VERSION >= 108600
#include <boost/asio/deferred.hpp>
#else
#include <boost/asio/use_awaitable.hpp>
#endif
#if BOOST_VERSION >= 107700
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/cancellation_type.hpp>
#endif

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "holdfast/candidate.hpp"
#include "holdfast/detail/election_handle.hpp"
#include "holdfast/detail/handle.hpp"
#include "holdfast/detail/locks.hpp"
#include "holdfast/detail/set_handle.hpp"
#include "holdfast/error.hpp"
#include "holdfast/term.hpp"

// How <holdfast/async.hpp> brings a completion of the library to a handler of the user's Asio. Not for
// users. Everything here is compiled by the user's Boost, and no Boost type crosses into the library.

namespace holdfast::detail {

/// Boost before 1.76 cannot hold a std::error_code: there, the category of this library is wrapped.
class wrapped_category final : public boost::system::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return category().name(); }
  [[nodiscard]] std::string message(int code) const override { return category().message(code); }
};

[[nodiscard]] inline const boost::system::error_category& boost_category() noexcept {
  static const wrapped_category wrapped;
  return wrapped;
}

template <class Code = boost::system::error_code>
[[nodiscard]] Code to_boost(const std::error_code& code) {
  if constexpr (std::is_constructible_v<Code, const std::error_code&>) {
    return Code{code};
  } else {
    if (!code) return {};
    if (code.category() == category()) return {code.value(), boost_category()};
    return {code.value(), boost::system::system_category()};
  }
}

/// Joins a cancellation slot to an operation. The slot must be filled before the operation starts,
/// because the handler, which empties it, may run on another thread before the start has returned.
class cancellation {
 public:
  void attach(pending operation) {
    {
      const std::lock_guard guard{mutex_};
      operation_ = operation;
      if (!requested_) return;
    }
    operation.cancel();
  }

  void request() {
    std::optional<pending> operation;
    {
      const std::lock_guard guard{mutex_};
      requested_ = true;
      operation = operation_;
    }
    if (operation) operation->cancel();
  }

 private:
  std::mutex mutex_;
  bool requested_ = false;
  std::optional<pending> operation_;
};

/// The error of a completion without `with_diagnostics`, and of one with it.
using error_codes = boost::system::error_code;
using exceptions = std::exception_ptr;

template <class Error>
using lease_signature = void(Error, lease);
template <class Error>
using set_signature = void(Error, lease_set);
template <class Error>
using plain_signature = void(Error);
template <class Error>
using term_signature = void(Error, term);
template <class Error>
using leader_signature = void(Error, std::optional<candidate>);
template <class Error>
using count_signature = void(Error, std::size_t);
template <class Error>
using participants_signature = void(Error, std::vector<candidate>);

template <class Error>
[[nodiscard]] Error error_of(const outcome& ended) {
  if constexpr (std::is_same_v<Error, exceptions>) {
    return ended.code ? std::make_exception_ptr(error{ended.code, ended.detail}) : nullptr;
  } else {
    return to_boost(ended.code);
  }
}

/// The function that the handler's executor runs in the end: the handler, with the outcome.
template <class Signature, class Handler>
class delivery;
template <class Error, class... Granted, class Handler>
class delivery<void(Error, Granted...), Handler> {
 public:
  using allocator_type = boost::asio::associated_allocator_t<Handler>;

  delivery(Handler handler, outcome ended) : handler_{std::move(handler)}, ended_{std::move(ended)} {}

  [[nodiscard]] allocator_type get_allocator() const noexcept {
    return boost::asio::get_associated_allocator(handler_);
  }

  void operator()() {
#if BOOST_VERSION >= 107700
    // Not when the operation ends, because a slot may only be touched where its handler runs.
    auto slot = boost::asio::get_associated_cancellation_slot(handler_);
    if (slot.is_connected()) slot.clear();
#endif
    const auto failed = error_of<Error>(ended_);
    std::move(handler_)(failed, granted<Granted>()...);
  }

 private:
  template <class Value>
  [[nodiscard]] Value granted() {
    if constexpr (std::is_same_v<Value, lease_set>) {
      return std::move(ended_.granted_set);
    } else if constexpr (std::is_same_v<Value, lease>) {
      return std::move(ended_.granted);
    } else if constexpr (std::is_same_v<Value, std::size_t>) {
      return ended_.count;
    } else {
      if (!ended_.election) return {};
      auto& all = ended_.election->candidates;
      if constexpr (std::is_same_v<Value, term>) {
        return term_access::make(std::move(ended_.granted), std::move(ended_.election->value),
                                 std::move(ended_.election->metadata));
      } else if constexpr (std::is_same_v<Value, std::optional<candidate>>) {
        return all.empty() ? std::nullopt : std::optional{std::move(all.front())};
      } else {
        return std::move(all);
      }
    }
  }

  Handler handler_;
  outcome ended_;
};

/// The executor, which counts as work of its context as long as this lives.
template <class Executor>
auto as_work(const Executor& executor) {
  if constexpr (boost::asio::execution::is_executor<Executor>::value) {
    return boost::asio::prefer(executor, boost::asio::execution::outstanding_work.tracked);
  } else {  // of the Networking TS
    return boost::asio::make_work_guard(executor);
  }
}
template <class Executor>
const Executor& executor_of(const Executor& work) {
  return work;
}
template <class Executor>
Executor executor_of(const boost::asio::executor_work_guard<Executor>& work) {
  return work.get_executor();
}

/// Waits at the library for the outcome and posts it to the handler's executor, which is kept running
/// until then.
template <class Signature, class Handler, class Executor>
class posted_completion final : public completion {
 public:
  /// \param otherwise for a handler without an executor of its own.
  posted_completion(Handler handler, const Executor& otherwise)
      : work_{as_work(boost::asio::get_associated_executor(handler, otherwise))},
        handler_{std::move(handler)} {}

  /// Destroys the handler and its executor: after the call the context may be destroyed. The work guard is
  /// destroyed last, because a context that runs until it is out of work waits for it.
  void complete(outcome ended) noexcept override {
    const work_type work{std::move(*work_)};
    work_.reset();
    delivery<Signature, Handler> task{std::move(*handler_), std::move(ended)};
    handler_.reset();
    boost::asio::post(executor_of(work), std::move(task));
  }

 private:
  using executor_type = boost::asio::associated_executor_t<Handler, Executor>;
  using work_type = decltype(as_work(std::declval<const executor_type&>()));

  std::optional<work_type> work_;
  std::optional<Handler> handler_;  // goes before the work
};

/// Starts an operation of the library for one handler. `Start` is called as
/// `pending start(std::unique_ptr<completion>)`.
template <class Signature, class Start, class Handler, class Executor>
void start_for(Start start, Handler handler, const Executor& otherwise) {
  using posted = posted_completion<Signature, Handler, Executor>;
#if BOOST_VERSION >= 107700
  auto slot = boost::asio::get_associated_cancellation_slot(handler);
  if (slot.is_connected()) {
    const auto cancelled = std::make_shared<cancellation>();
    slot.assign([cancelled](boost::asio::cancellation_type type) {
      if (type != boost::asio::cancellation_type::none) cancelled->request();
    });
    cancelled->attach(start(std::make_unique<posted>(std::move(handler), otherwise)));
    return;
  }
#endif
  start(std::make_unique<posted>(std::move(handler), otherwise));
}

/// The function that starts an operation for the handler that a token makes. It has an executor for tokens
/// that need one to begin with: `cancel_after` makes its timer there, and its handlers for the timer and for
/// the operation, where they have no other executor, must not run at the same time.
template <class Signature, class Start>
class initiation {
 public:
  using executor_type = boost::asio::strand<boost::asio::system_executor>;

  explicit initiation(Start start) : start_{std::move(start)} {}
  [[nodiscard]] executor_type get_executor() const noexcept {
    if (!executor_) executor_ = boost::asio::make_strand(boost::asio::system_executor{});
    return *executor_;
  }

  template <class Handler>
  void operator()(Handler&& handler) && {
    run(std::move(start_), std::forward<Handler>(handler));
  }
  template <class Handler>
  void operator()(Handler&& handler) const& {
    run(Start{start_}, std::forward<Handler>(handler));
  }

 private:
  template <class Handler>
  void run(Start start, Handler&& handler) const {
    using value = std::decay_t<Handler>;
    if constexpr (std::is_same_v<boost::asio::associated_executor_t<value, executor_type>, executor_type>) {
      if (executor_) {
        return start_for<Signature>(std::move(start), value(std::forward<Handler>(handler)), *executor_);
      }
    }
    start_for<Signature>(std::move(start), value(std::forward<Handler>(handler)),
                         boost::asio::system_executor{});
  }

  Start start_;
  mutable std::optional<executor_type> executor_;  // made when a token asks for it
};

/// See holdfast::with_diagnostics.
template <class Token>
struct diagnosed {
  Token token;
};
template <class Token>
inline constexpr bool is_diagnosed = false;
template <class Token>
inline constexpr bool is_diagnosed<diagnosed<Token>> = true;

template <template <class Error> class Signature, class Start, class Token>
auto initiate(Start start, Token&& token) {
  if constexpr (is_diagnosed<std::decay_t<Token>>) {
    using signature = Signature<exceptions>;
    auto inner = std::forward<Token>(token).token;
    return boost::asio::async_initiate<decltype(inner), signature>(
        initiation<signature, Start>{std::move(start)}, inner);
  } else {
    using signature = Signature<error_codes>;
    return boost::asio::async_initiate<Token, signature>(initiation<signature, Start>{std::move(start)},
                                                         token);
  }
}

template <class Token>
auto initiate_acquire(handle& lock, const lock_request& request, Token&& token) {
  return initiate<lease_signature>(
      [&lock, request](std::unique_ptr<completion> handler) {
        return lock.async_acquire(request, std::move(handler));
      },
      std::forward<Token>(token));
}

/// As `initiate_acquire`, with a limit that is counted from when the operation starts, which lazy tokens put
/// off.
template <class Clock, class Duration, class Token>
auto initiate_acquire_until(handle& lock, const lock_request& request,
                            const std::chrono::time_point<Clock, Duration>& limit, Token&& token) {
  return initiate<lease_signature>(
      [&lock, request, limit](std::unique_ptr<completion> handler) {
        auto timed = request;
        timed.limit = time_left(limit);
        return lock.async_acquire(timed, std::move(handler));
      },
      std::forward<Token>(token));
}

/// As `initiate_acquire`, of several names. `limit` is called when the operation starts.
template <class Limit, class Token>
auto initiate_acquire_set(set_handle& locks, Limit limit, Token&& token) {
  return initiate<set_signature>(
      [&locks, limit](std::unique_ptr<completion> handler) {
        return locks.async_acquire(limit(), std::move(handler));
      },
      std::forward<Token>(token));
}

/// As `initiate_acquire`, of an election. `limit` is called when the operation starts.
template <class Limit, class Token>
auto initiate_campaign(election_handle& of, std::string_view value, Limit limit, Token&& token) {
  return initiate<term_signature>(
      [&of, value = std::string{value}, limit](std::unique_ptr<completion> handler) {
        return of.async_campaign(value, limit(), std::move(handler));
      },
      std::forward<Token>(token));
}

// Where Asio has no coroutines, as Boost 1.74 with clang, every call names its token.
#if defined(BOOST_ASIO_HAS_CO_AWAIT)
#if BOOST_VERSION >= 108600
using awaiting_token = boost::asio::deferred_t;
#else
using awaiting_token = boost::asio::use_awaitable_t<>;
#endif
struct default_token : diagnosed<awaiting_token> {};
template <>
inline constexpr bool is_diagnosed<default_token> = true;
#endif

}  // namespace holdfast::detail
