// SPDX-License-Identifier: Apache-2.0
#include "runtime/io_deadline.hpp"

#include <array>
#include <cerrno>
#include <new>
#include <poll.h>
#include <string>

#include "holdfast/error.hpp"

namespace holdfast::runtime {

using clock = std::chrono::steady_clock;

connection_error caught_connection_error() noexcept {
  try {
    throw;
  } catch (const connection_error& c) {
    return c;
  } catch (const error& e) {
    return {{e.code(), e.detail()}};
  } catch (const std::bad_alloc&) {
    std::terminate();
  } catch (const std::exception& e) {
    return {{errc::corrupt_store, std::string{"an answer of an unexpected form: "} + e.what()}};
  }
}

io_deadline::io_deadline(std::chrono::milliseconds limit, int stop)
    : until_{clock::now() + limit}, limit_{limit}, stop_{stop} {}

io_deadline io_deadline::share(std::size_t parts) const {
  io_deadline part = *this;
  part.until_ = clock::now() + (until_ - clock::now()) / static_cast<int>(parts);
  return part;
}

io_deadline io_deadline::part(std::size_t parts) const {
  io_deadline result = share(parts);
  result.limit_ = std::chrono::round<std::chrono::milliseconds>(result.until_ - clock::now());
  return result;
}

void io_deadline::wait(int fd, short events) const {
  std::array<pollfd, 2> fds{pollfd{fd, events, 0}, pollfd{stop_, POLLIN, 0}};
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until_ - clock::now()).count();
    const int n = left <= 0 ? 0 : ::poll(fds.data(), fds.size(), static_cast<int>(left));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) give_up();
    if (fds[1].revents != 0) throw connection_error{{errc::closed, "the client was closed"}, false};
    return;
  }
}

void io_deadline::require_time() const {
  if (clock::now() >= until_) give_up();
}

void io_deadline::give_up() const {
  throw connection_error{{errc::unavailable, "no connection within " + std::to_string(limit_.count()) +
                                                 " ms; it was waiting for " + stage_}};
}

}  // namespace holdfast::runtime
