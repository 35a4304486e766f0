#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {

/// A server that greets a client as a node of a Redis Cluster does, and answers each other command with what
/// a function says.
class fake_redis {
 public:
  /// \param command its words. \return the reply, as bytes. Called on the server's thread.
  using answer = std::function<std::string(const std::vector<std::string>& command)>;

  fake_redis();
  ~fake_redis();
  fake_redis(const fake_redis&) = delete;
  fake_redis& operator=(const fake_redis&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  /// From now on. Until the first call it answers nothing but greetings.
  void answer_with(answer next);

 private:
  struct connection {
    int socket = -1;
    std::string received{};
  };

  void serve(const std::stop_token& until);
  /// \return whether the connection is alive.
  bool serve_one(connection& c);
  std::string reply_to(const std::vector<std::string>& command);

  std::mutex mutex_;
  answer answer_;
  std::uint16_t port_ = 0;
  int listener_ = -1;
  int wake_ = -1;
  std::jthread thread_;
};

}  // namespace holdfast::test
