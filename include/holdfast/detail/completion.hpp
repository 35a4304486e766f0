#pragma once

#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/execution/executor.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/system/error_code.hpp>
#include <boost/version.hpp>
#if BOOST_VERSION >= 107700
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/cancellation_type.hpp>
#endif

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include "holdfast/detail/handle.hpp"
#include "holdfast/error.hpp"

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

using lease_signature = void(boost::system::error_code, lease);
using plain_signature = void(boost::system::error_code);

/// What the handler's executor runs in the end: the handler, with the outcome.
template <class Signature, class Handler>
class delivery {
 public:
  using allocator_type = boost::asio::associated_allocator_t<Handler>;

  delivery(Handler handler, std::error_code code, lease granted)
      : handler_{std::move(handler)}, code_{code}, granted_{std::move(granted)} {}

  [[nodiscard]] allocator_type get_allocator() const noexcept {
    return boost::asio::get_associated_allocator(handler_);
  }

  void operator()() {
#if BOOST_VERSION >= 107700
    // Here and not when the operation ends: a slot may only be touched where its handler runs.
    auto slot = boost::asio::get_associated_cancellation_slot(handler_);
    if (slot.is_connected()) slot.clear();
#endif
    const auto code = to_boost(code_);
    if constexpr (std::is_same_v<Signature, lease_signature>) {
      std::move(handler_)(code, std::move(granted_));
    } else {
      std::move(handler_)(code);
    }
  }

 private:
  Handler handler_;
  std::error_code code_;
  lease granted_;
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
template <class Signature, class Handler>
class posted_completion final : public completion {
 public:
  explicit posted_completion(Handler handler)
      : work_{as_work(boost::asio::get_associated_executor(handler))}, handler_{std::move(handler)} {}

  /// Leaves nothing of the handler and its executor behind: once it has been called, its context may be
  /// destroyed. What counts as work there goes last, since a context that runs until it is out of work waits
  /// for that.
  void complete(std::error_code code, lease granted) noexcept override {
    const work_type work{std::move(*work_)};
    work_.reset();
    delivery<Signature, Handler> outcome{std::move(*handler_), code, std::move(granted)};
    handler_.reset();
    boost::asio::post(executor_of(work), std::move(outcome));
  }

 private:
  using work_type = decltype(as_work(std::declval<const boost::asio::associated_executor_t<Handler>&>()));

  std::optional<work_type> work_;
  std::optional<Handler> handler_;  // goes before the work
};

/// Starts an operation of the library for one handler. `Start` is called as
/// `pending start(std::unique_ptr<completion>)`.
template <class Signature, class Start, class Handler>
void start_for(Start start, Handler handler) {
#if BOOST_VERSION >= 107700
  auto slot = boost::asio::get_associated_cancellation_slot(handler);
  if (slot.is_connected()) {
    const auto cancelled = std::make_shared<cancellation>();
    slot.assign([cancelled](boost::asio::cancellation_type type) {
      if (type != boost::asio::cancellation_type::none) cancelled->request();
    });
    cancelled->attach(start(std::make_unique<posted_completion<Signature, Handler>>(std::move(handler))));
    return;
  }
#endif
  start(std::make_unique<posted_completion<Signature, Handler>>(std::move(handler)));
}

template <class Signature, class Start, class Token>
auto initiate(Start start, Token&& token) {
  return boost::asio::async_initiate<Token, Signature>(
      [start = std::move(start)](auto&& handler) mutable {
        using handler_type = std::decay_t<decltype(handler)>;
        start_for<Signature>(std::move(start), handler_type(std::forward<decltype(handler)>(handler)));
      },
      token);
}

template <class Token>
auto initiate_acquire(handle& lock, want what, Token&& token) {
  return initiate<lease_signature>(
      [&lock, what](std::unique_ptr<completion> done) { return lock.async_acquire(what, std::move(done)); },
      std::forward<Token>(token));
}

}  // namespace holdfast::detail
