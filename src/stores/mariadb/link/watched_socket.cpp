#include "stores/mariadb/link/watched_socket.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "holdfast/error.hpp"
#include "runtime/signals.hpp"

namespace holdfast::mariadb {

using runtime::connection_error;

namespace {

void close_if_open(int descriptor) {
  if (descriptor >= 0) ::close(descriptor);
}

}  // namespace

watched_socket::watched_socket(int socket, const runtime::io_deadline& limit)
    : limit_{limit}, socket_{::fcntl(socket, F_DUPFD_CLOEXEC, 0)}, done_{::eventfd(0, EFD_CLOEXEC)} {
  try {
    if (socket_ < 0 || done_ < 0) throw connection_error{{errc::exhausted, "out of file descriptors"}};
    thread_ = runtime::quiet_thread([this] { watch(); });
  } catch (...) {
    close_if_open(socket_);
    close_if_open(done_);
    throw runtime::caught_connection_error();
  }
}

watched_socket::~watched_socket() {
  join();
  ::close(socket_);
  ::close(done_);
}

void watched_socket::end_watch() {
  join();
  if (ended_) std::rethrow_exception(ended_);
}

void watched_socket::watch() {
  try {
    limit_.wait(done_, POLLIN);
  } catch (const connection_error&) {
    ended_ = std::current_exception();
    ::shutdown(socket_, SHUT_RDWR);
  }
}

void watched_socket::join() noexcept {
  if (!thread_.joinable()) return;
  ::eventfd_write(done_, 1);
  thread_.join();
}

}  // namespace holdfast::mariadb
