#include "stores/redis/link/stream.hpp"

#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <unistd.h>

namespace holdfast::redis {

namespace {

[[noreturn]] void cut(int code) {
  throw connection_error{{errc::unavailable, std::string{"the connection broke: "} + std::strerror(code)}};
}

class plain final : public stream {
 public:
  explicit plain(int socket) : socket_{socket} {}
  ~plain() override {
    ::shutdown(socket_, SHUT_RDWR);  // a child after fork() may have it open, too
    ::close(socket_);
  }
  plain(const plain&) = delete;
  plain& operator=(const plain&) = delete;

  std::size_t read_some(char* to, std::size_t room) override {
    while (true) {
      const ssize_t n = ::recv(socket_, to, room, 0);
      if (n > 0) return static_cast<std::size_t>(n);
      if (n == 0) throw connection_error{{errc::unavailable, "the server closed the connection"}};
      if (errno == EAGAIN || errno == EWOULDBLOCK) return 0;
      if (errno != EINTR) cut(errno);
    }
  }
  std::size_t write_some(std::string_view bytes) override {
    while (true) {
      const ssize_t n = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n >= 0) return static_cast<std::size_t>(n);
      if (errno == EAGAIN || errno == EWOULDBLOCK) return 0;
      if (errno != EINTR) cut(errno);
    }
  }
  [[nodiscard]] int descriptor() const override { return socket_; }

 private:
  int socket_;
};

}  // namespace

std::unique_ptr<stream> plain_stream(int socket) { return std::make_unique<plain>(socket); }

}  // namespace holdfast::redis
