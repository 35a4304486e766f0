// SPDX-License-Identifier: Apache-2.0
// Ten coroutines on one thread deduct from one stock, each while it holds the lock; a coroutine whose lease
// is lost ends with it.
//
// g++ 12 miscompiles several forms of co_await: keep to it as a statement or as a variable's initialiser,
// with operands that have names.

#include <chrono>
#include <exception>
#include <iostream>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <holdfast/async.hpp>
#include <holdfast/holdfast.hpp>

namespace {

namespace asio = boost::asio;

asio::awaitable<void> deduct_slowly(int& left) {
  asio::steady_timer work{co_await asio::this_coro::executor, std::chrono::milliseconds{10}};
  co_await work.async_wait(asio::use_awaitable);
  --left;
}

asio::awaitable<void> deduct(holdfast::mutex& stock, int& left) {
  using namespace asio::experimental::awaitable_operators;
  holdfast::lease lease = co_await stock.async_acquire();
  // Whichever ends first cancels the other: work ends with its lease, at the latest.
  auto either = deduct_slowly(left) || holdfast::async_wait_lost(lease, asio::use_awaitable);
  const auto first = co_await std::move(either);
  if (first.index() == 1) {
    std::cout << "token " << lease.token().value() << ": lost\n";
    co_return;
  }
  std::cout << "token " << lease.token().value() << ": " << left << " left\n";
  co_await holdfast::async_release(std::move(lease));
}

/// Errors of operations without a completion token are those of the blocking forms: the lock, the store, the
/// cause.
void report(const std::exception_ptr& failed) {
  try {
    if (failed) std::rethrow_exception(failed);
  } catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
  }
}

}  // namespace

int main() {
  holdfast::client locks{holdfast::default_store()};
  holdfast::mutex stock{locks, "stock/sku-42"};
  asio::io_context context;
  int left = 10;
  for (int i = 0; i < 10; ++i) co_spawn(context, deduct(stock, left), report);
  context.run();
  return left == 0 ? 0 : 1;
}
