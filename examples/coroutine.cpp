// Ten coroutines on one thread deduct from one stock, each while it holds the lock.
//
// g++ 12 miscompiles several forms of co_await: keep to it as a statement or as a variable's initialiser,
// with operands that have names.

#include <iostream>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <holdfast/async.hpp>
#include <holdfast/holdfast.hpp>

namespace {

boost::asio::awaitable<void> deduct(holdfast::mutex& stock, int& left) {
  holdfast::lease lease = co_await stock.async_acquire(boost::asio::use_awaitable);
  std::cout << "token " << lease.token().value() << ": " << --left << " left\n";
  co_await holdfast::async_release(std::move(lease), boost::asio::use_awaitable);
}

}  // namespace

int main() {
  holdfast::client locks{holdfast::default_store()};
  holdfast::mutex stock{locks, "stock/sku-42"};
  boost::asio::io_context context;
  int left = 10;
  for (int i = 0; i < 10; ++i) co_spawn(context, deduct(stock, left), boost::asio::detached);
  context.run();
  return left == 0 ? 0 : 1;
}
