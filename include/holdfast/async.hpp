// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "holdfast/client.hpp"
#include "holdfast/counting_semaphore.hpp"
#include "holdfast/detail/completion.hpp"
#include "holdfast/election.hpp"
#include "holdfast/fencing_token.hpp"
#include "holdfast/lease.hpp"
#include "holdfast/lock_set.hpp"
#include "holdfast/mutex.hpp"
#include "holdfast/recursive_mutex.hpp"
#include "holdfast/shared_mutex.hpp"
#include "holdfast/term.hpp"

/// \file
/// The asynchronous forms of all lock types and of `lease`, for any Boost.Asio completion token:
/// `use_awaitable`, `use_future`, `deferred`, `as_tuple(…)`, `bind_cancellation_slot(…)`, a plain function …
///
///     auto lease = co_await stock.async_acquire();  // throws holdfast::error
///     auto [code, lease] = co_await stock.async_acquire(boost::asio::as_tuple(boost::asio::use_awaitable));
///
/// It is compiled with the Boost of the program that includes it (1.74 or newer; cancellation needs 1.77).
/// With Boost 1.74 include it before <boost/asio.hpp>, which lacks an include of its own. The rules below
/// hold for every asynchronous function of the library. All of them may be called from any thread, and none
/// waits.
///
/// *Default token.* Without a token the operation is deferred until it is awaited in a coroutine of Asio
/// (before Boost 1.86 as by `use_awaitable`), with diagnostics: its errors are those of the blocking form.
///
/// *Completion signature.* `void(boost::system::error_code, holdfast::lease)`; of a lock_set, with a
/// holdfast::lease_set in its place, of a campaign with a holdfast::term, for which the same holds. The code
/// compares with `holdfast::errc`; tokens that throw throw boost::system::system_error with it. A code cannot
/// contain the store, the name and the cause: `with_diagnostics(token)` completes with an exception instead.
/// With an error, the lease is inert. The try forms complete without an error and with an inert lease where
/// the name was merely held by another: `if (lease)` tells.
///
/// *Exactly once.* Each operation completes once, and never from within the initiating function; errors of
/// arguments arrive this way too. A handler that was posted and is destroyed before it ran, with its executor
/// for instance, takes its lease along: it is released.
///
/// *Executor.* The handler is posted to its associated executor (by default Asio's system executor), with
/// its associated allocator. Outstanding work is counted there, so that `io_context::run()` does not
/// return before. An executor that does not run delays nothing else: leases are renewed all the same.
///
/// *Cancellation.* By the handler's associated cancellation slot: terminal, partial and total mean the same.
/// A cancelled acquisition completes with errc::cancelled and leaves nothing at the store: a grant that
/// arrived meanwhile is released in the background. Cancelling a completed operation has no effect. The code
/// of cancelled operations is errc::cancelled. It equals `std::errc::operation_canceled`, but not
/// `boost::asio::error::operation_aborted`, which is a code of another category.
/// For a limit in time, the `async_try_…_for` and `_until` forms wait in the queue no longer than that, and
/// complete without an error. `cancel_after` (Boost 1.86 or newer) works with each operation and completes
/// with errc::cancelled; without a timer of yours it makes one on the system executor. As with every
/// operation of Asio, the executor of a handler that it is used with runs one thing at a time: that of a
/// context with one thread, or a strand. Handlers without an executor get a strand; `use_future` does not,
/// and has to be bound to one.
///
/// *Lifetime.* The lock object must live until the operation has been started, which lazy tokens
/// (`deferred`, `use_awaitable`) put off until they are awaited. From then on it may be destroyed; the
/// operation goes on. The execution context must live until the handler was posted to it: before it is
/// destroyed, run it until it is out of work, or close the client. Closing the client ends all operations
/// with errc::closed.
///
/// *Errors.* Those of the blocking form, and errc::cancelled.

namespace holdfast {

/// Adapts a completion token so that errors say as much as those of the blocking form: the operation, the
/// name, the store and the cause. The completion signature is `void(std::exception_ptr, holdfast::lease)`
/// then, or `void(std::exception_ptr)` for operations without a lease; the exception is a holdfast::error.
/// Tokens that throw throw it:
///
/// \code
/// auto lease = stock.async_acquire(holdfast::with_diagnostics(boost::asio::use_future)).get();
/// \endcode
///
/// It is the outermost adapter: `with_diagnostics(cancel_after(200ms, use_awaitable))`.
template <class Token>
[[nodiscard]] detail::diagnosed<std::decay_t<Token>> with_diagnostics(Token&& token) {
  return {std::forward<Token>(token)};
}

// The locks; each function is documented in its class ----------------------------------------------

namespace detail {

template <class Token>
auto exclusive_leases::async_acquire(Token&& token) {
  return initiate_acquire(handle_, {mode::exclusive, 1, std::nullopt}, std::forward<Token>(token));
}
template <class Token>
auto exclusive_leases::async_try_acquire(Token&& token) {
  return initiate_acquire(handle_, {mode::exclusive, 1, duration::zero()}, std::forward<Token>(token));
}
template <class Rep, class Period, class Token>
auto exclusive_leases::async_try_acquire_for(const std::chrono::duration<Rep, Period>& limit, Token&& token) {
  return initiate_acquire(handle_, {mode::exclusive, 1, to_limit(limit)}, std::forward<Token>(token));
}
template <class Clock, class Duration, class Token>
auto exclusive_leases::async_try_acquire_until(const std::chrono::time_point<Clock, Duration>& limit,
                                               Token&& token) {
  return initiate_acquire_until(handle_, {mode::exclusive, 1, std::nullopt}, limit,
                                std::forward<Token>(token));
}

}  // namespace detail

template <class Token>
auto shared_mutex::async_acquire_shared(Token&& token) {
  return detail::initiate_acquire(handle_, {mode::shared, 1, std::nullopt}, std::forward<Token>(token));
}
template <class Token>
auto shared_mutex::async_try_acquire_shared(Token&& token) {
  return detail::initiate_acquire(handle_, {mode::shared, 1, duration::zero()}, std::forward<Token>(token));
}
template <class Rep, class Period, class Token>
auto shared_mutex::async_try_acquire_shared_for(const std::chrono::duration<Rep, Period>& limit,
                                                Token&& token) {
  return detail::initiate_acquire(handle_, {mode::shared, 1, detail::to_limit(limit)},
                                  std::forward<Token>(token));
}
template <class Clock, class Duration, class Token>
auto shared_mutex::async_try_acquire_shared_until(const std::chrono::time_point<Clock, Duration>& limit,
                                                  Token&& token) {
  return detail::initiate_acquire_until(handle_, {mode::shared, 1, std::nullopt}, limit,
                                        std::forward<Token>(token));
}

template <class Token>
auto counting_semaphore::async_acquire_permits(std::ptrdiff_t count, Token&& token) {
  return detail::initiate_acquire(handle_, {mode::permits, count, std::nullopt}, std::forward<Token>(token));
}
template <class Token>
auto counting_semaphore::async_try_acquire_permits(std::ptrdiff_t count, Token&& token) {
  return detail::initiate_acquire(handle_, {mode::permits, count, duration::zero()},
                                  std::forward<Token>(token));
}
template <class Rep, class Period, class Token>
auto counting_semaphore::async_try_acquire_permits_for(std::ptrdiff_t count,
                                                       const std::chrono::duration<Rep, Period>& limit,
                                                       Token&& token) {
  return detail::initiate_acquire(handle_, {mode::permits, count, detail::to_limit(limit)},
                                  std::forward<Token>(token));
}
template <class Clock, class Duration, class Token>
auto counting_semaphore::async_try_acquire_permits_until(
    std::ptrdiff_t count, const std::chrono::time_point<Clock, Duration>& limit, Token&& token) {
  return detail::initiate_acquire_until(handle_, {mode::permits, count, std::nullopt}, limit,
                                        std::forward<Token>(token));
}

template <class Token>
auto lock_set::async_acquire(Token&& token) {
  return detail::initiate_acquire_set(
      handle_, [] { return std::optional<duration>{}; }, std::forward<Token>(token));
}
template <class Token>
auto lock_set::async_try_acquire(Token&& token) {
  return detail::initiate_acquire_set(
      handle_, [] { return std::optional{duration::zero()}; }, std::forward<Token>(token));
}
template <class Rep, class Period, class Token>
auto lock_set::async_try_acquire_for(const std::chrono::duration<Rep, Period>& limit, Token&& token) {
  return detail::initiate_acquire_set(
      handle_, [limit] { return std::optional{detail::to_limit(limit)}; }, std::forward<Token>(token));
}
template <class Clock, class Duration, class Token>
auto lock_set::async_try_acquire_until(const std::chrono::time_point<Clock, Duration>& limit, Token&& token) {
  return detail::initiate_acquire_set(
      handle_, [limit] { return std::optional{detail::time_left(limit)}; }, std::forward<Token>(token));
}

template <class Token>
auto election::async_campaign(std::string_view value, Token&& token) {
  return detail::initiate_campaign(
      handle_, value, [] { return std::optional<duration>{}; }, std::forward<Token>(token));
}
template <class Token>
auto election::async_try_campaign(std::string_view value, Token&& token) {
  return detail::initiate_campaign(
      handle_, value, [] { return std::optional{duration::zero()}; }, std::forward<Token>(token));
}
template <class Rep, class Period, class Token>
auto election::async_try_campaign_for(std::string_view value, const std::chrono::duration<Rep, Period>& limit,
                                      Token&& token) {
  return detail::initiate_campaign(
      handle_, value, [limit] { return std::optional{detail::to_limit(limit)}; }, std::forward<Token>(token));
}
template <class Clock, class Duration, class Token>
auto election::async_try_campaign_until(std::string_view value,
                                        const std::chrono::time_point<Clock, Duration>& limit,
                                        Token&& token) {
  return detail::initiate_campaign(
      handle_, value, [limit] { return std::optional{detail::time_left(limit)}; },
      std::forward<Token>(token));
}
template <class Token>
auto election::async_leader(Token&& token) const {
  return detail::initiate<detail::leader_signature>(
      [&of = handle_](std::unique_ptr<detail::completion> handler) {
        return of.async_participants(false, std::move(handler));
      },
      std::forward<Token>(token));
}
template <class Token>
auto election::async_participants(Token&& token) const {
  return detail::initiate<detail::participants_signature>(
      [&of = handle_](std::unique_ptr<detail::completion> handler) {
        return of.async_participants(true, std::move(handler));
      },
      std::forward<Token>(token));
}

// lease ------------------------------------------------------------------------------------------

/// Releases a lease and completes with the store's confirmation, or with an error as `lease::release()`
/// returns it. Its signature is `void(boost::system::error_code)`.
///
/// Cancelling ends only the wait (errc::cancelled): the release is on its way and is retried in the
/// background until the store confirms it or the lease has ended.
///
/// \code
/// co_await holdfast::async_release(std::move(lease));
/// \endcode
template <class Token = detail::default_token>
auto async_release(lease held, Token&& token = Token{}) {
  return detail::initiate<detail::plain_signature>(
      [held = std::move(held)](std::unique_ptr<detail::completion> handler) mutable {
        return detail::async_release(std::move(held), std::move(handler));
      },
      std::forward<Token>(token));
}

/// Changes a lease from exclusive to shared without releasing it, with the errors of `lease::downgrade()`.
/// The completion returns the lease, unchanged after an error. Tokens that throw drop the lease, which
/// releases it; use `as_tuple(…)` to keep it.
///
/// Cancelling ends only the wait: the lease comes back at once, and is shared when the store has confirmed
/// the downgrade.
template <class Token = detail::default_token>
auto async_downgrade(lease held, Token&& token = Token{}) {
  return detail::initiate<detail::lease_signature>(
      [held = std::move(held)](std::unique_ptr<detail::completion> handler) mutable {
        return detail::async_downgrade(std::move(held), std::move(handler));
      },
      std::forward<Token>(token));
}

/// Completes when the lease is lost, at or before its deadline: without an error; with errc::closed when it
/// is lost because the client was closed. Completes with errc::not_owner when the lease is released first,
/// and with errc::cancelled when the wait is cancelled. Its signature is `void(boost::system::error_code)`.
///
/// To end work with its lease, await whichever of the two ends first; the other is cancelled:
///
/// \code
/// using namespace boost::asio::experimental::awaitable_operators;
/// holdfast::lease lease = co_await stock.async_acquire();
/// auto either = work(lease) || holdfast::async_wait_lost(lease, boost::asio::use_awaitable);
/// const auto ended = co_await std::move(either);  // index 1: the lease was lost
/// \endcode
///
/// \param held must live until the operation has been started, which lazy tokens put off. It may be moved,
///        released or destroyed afterwards.
template <class Token = detail::default_token>
auto async_wait_lost(const lease& held, Token&& token = Token{}) {
  return detail::initiate<detail::plain_signature>(
      [&held](std::unique_ptr<detail::completion> handler) {
        return detail::async_wait_lost(held, std::move(handler));
      },
      std::forward<Token>(token));
}

/// Ends a term, as `async_release` does a lease: `term::resign()`.
template <class Token = detail::default_token>
auto async_resign(term held, Token&& token = Token{}) {
  return async_release(detail::term_access::take(std::move(held)), std::forward<Token>(token));
}

/// Replaces the value of a term, with the errors of `term::proclaim()`. The completion returns the term, with
/// its former value after an error. Tokens that throw drop the term, which resigns; use `as_tuple(…)` to keep
/// it.
///
/// Cancelling ends only the wait: the term comes back at once, and others may see either value.
template <class Token = detail::default_token>
auto async_proclaim(term held, std::string_view value, Token&& token = Token{}) {
  return detail::initiate<detail::term_signature>(
      [held = std::move(held),
       value = std::string{value}](std::unique_ptr<detail::completion> handler) mutable {
        return detail::async_proclaim(std::move(held), value, std::move(handler));
      },
      std::forward<Token>(token));
}

/// Completes when the leadership is lost, as `async_wait_lost` of a lease.
/// \param held must live until the operation has been started. It may be moved, resigned or destroyed
///        afterwards.
template <class Token = detail::default_token>
auto async_wait_lost(const term& held, Token&& token = Token{}) {
  return async_wait_lost(detail::term_access::lease_of(held), std::forward<Token>(token));
}

/// Asks all holders of a name to release it, as `client::request_release()`. Its signature is
/// `void(boost::system::error_code, std::size_t)`: how many holders were asked.
///
/// Cancelling ends only the wait (errc::cancelled): the holders may be asked all the same.
/// \param locks must live until the operation has been started.
/// \param reason for people; may be empty. See `client::longest_reason`.
template <class Token = detail::default_token>
auto async_request_release(const client& locks, std::string_view name, std::string_view reason,
                           Token&& token = Token{}) {
  return detail::initiate<detail::count_signature>(
      [&locks, name = std::string{name},
       reason = std::string{reason}](std::unique_ptr<detail::completion> handler) {
        return detail::async_request_release(locks, name, std::nullopt, reason, std::move(handler));
      },
      std::forward<Token>(token));
}

/// As above, of the holder with this token alone; the count is zero where there is no such hold.
/// \param of_hold its token; not zero.
template <class Token = detail::default_token>
auto async_request_release(const client& locks, std::string_view name, fencing_token of_hold,
                           std::string_view reason, Token&& token = Token{}) {
  return detail::initiate<detail::count_signature>(
      [&locks, name = std::string{name}, of_hold,
       reason = std::string{reason}](std::unique_ptr<detail::completion> handler) {
        return detail::async_request_release(locks, name, of_hold, reason, std::move(handler));
      },
      std::forward<Token>(token));
}

/// Boost before 1.76 cannot compare its codes with enumerations of the standard's kind.
template <class Code>
  requires(std::is_same_v<Code, boost::system::error_code> && !std::is_constructible_v<Code, std::error_code>)
[[nodiscard]] bool operator==(const Code& code, errc expected) noexcept {
  return code.value() == static_cast<int>(expected) && code.category() == detail::boost_category();
}

}  // namespace holdfast
