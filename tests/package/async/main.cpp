// SPDX-License-Identifier: Apache-2.0
// A user's coroutine, compiled with the user's own Boost.
#include <cstdio>
#include <utility>  // Boost 1.74's awaitable.hpp forgets it

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/version.hpp>

#include <holdfast/async.hpp>
#include <holdfast/holdfast.hpp>

boost::asio::awaitable<void> deduct(holdfast::mutex& stock, bool& held) {
  auto lease = co_await stock.async_acquire(boost::asio::use_awaitable);
  held = lease.token().value() > 0;
}

int main() {
  holdfast::client locks{"memory:"};
  holdfast::mutex stock{locks, "stock/sku-42"};
  bool held = false;

  boost::asio::io_context io;
  boost::asio::co_spawn(io, deduct(stock, held), boost::asio::detached);
  io.run();

  std::printf("%s, with Boost %s\n", held ? "held" : "not held", BOOST_LIB_VERSION);
  return held ? 0 : 1;
}
