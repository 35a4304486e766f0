// SPDX-License-Identifier: Apache-2.0
// A program with the static library, and with a Boost that is not the library's: both run an event loop, and
// each catches what it throws.
#include <chrono>
#include <cstdio>
#include <mutex>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/system/system_error.hpp>
#include <boost/version.hpp>

#include <holdfast/holdfast.hpp>

namespace {

namespace asio = boost::asio;

bool boost_works(asio::io_context& io) {
  asio::local::stream_protocol::socket one{io}, other{io};
  asio::local::connect_pair(one, other);
  char byte = 0;
  bool read = false, timer = false, caught = false;
  asio::async_read(other, asio::buffer(&byte, 1),
                   [&](auto error, std::size_t) { read = !error && byte == 'x'; });
  asio::steady_timer soon{io, std::chrono::milliseconds{1}};
  soon.async_wait([&](auto error) {
    timer = !error;
    asio::write(one, asio::buffer("x", 1));
  });
  io.run();
  try {
    asio::local::stream_protocol::socket{io}.connect({"/no/such/socket"});
  } catch (const boost::system::system_error&) {
    caught = true;
  }
  return read && timer && caught;
}

bool holdfast_throws() {
  try {
    holdfast::client{"nowhere://"};
  } catch (const holdfast::error& error) {
    return error.code() == holdfast::errc::invalid_url;
  }
  return false;
}

}  // namespace

int main(int, char** argv) {
  holdfast::client locks{argv[1]};
  holdfast::mutex stock{locks, "stock/sku-42"};
  asio::io_context io;
  std::unique_lock hold{stock};
  const bool works = boost_works(io) && holdfast_throws() && stock.token().value() > 0;
  hold.unlock();
  std::printf("%s, with Boost %s\n", works ? "both work" : "not both work", BOOST_LIB_VERSION);
  return works ? 0 : 1;
}
