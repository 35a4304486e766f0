// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {

/// A session at a ZooKeeper on the loopback, as an operator's: a request at a time, by the protocol itself,
/// so that it does what no client library would. For setting scenes and looking behind them; it blocks. It
/// sends nothing by itself, so it lives for a minute after the last request.
class zookeeper_console {
 public:
  enum class kind : std::int32_t { persistent = 0, ephemeral = 1, sequential = 3 };  // the last is ephemeral
  struct right {
    std::int32_t may;  // of: 1 read, 2 write, 4 create, 8 delete, 16 administrate
    std::string scheme;
    std::string id;
  };
  struct about {
    std::int64_t session = 0;  // of an ephemeral node
    std::string data;
  };
  /// What a server answers instead.
  struct refusal : std::runtime_error {
    refusal(std::int32_t code_, const std::string& request);
    std::int32_t code;
  };

  /// \throws std::runtime_error if nobody serves there.
  explicit zookeeper_console(std::uint16_t port) : zookeeper_console{port, 0} {}
  /// Ends its session.
  ~zookeeper_console();
  zookeeper_console(const zookeeper_console&) = delete;
  zookeeper_console& operator=(const zookeeper_console&) = delete;

  /// Ends somebody else's session, as its owner would, who is not told. Returns when it is over.
  static void end_session(std::uint16_t port, std::int64_t id);

  // Each throws refusal where the server has an error for it.
  void log_in(const std::string& user_and_password);
  /// \return its path, with the number behind it if it has one.
  std::string create(const std::string& path, std::string_view data = {}, kind make = kind::persistent,
                     const std::vector<right>& rights = {{31, "world", "anyone"}});
  void remove(const std::string& path);
  void set(const std::string& path, std::string_view data);
  void set_rights(const std::string& path, const std::vector<right>& rights);
  about get(const std::string& path);
  /// In the order of their numbers, where they have some; none of a node that is not there.
  std::vector<std::string> children(const std::string& path);

 private:
  zookeeper_console(std::uint16_t port, std::int64_t session, bool end_at_once = false);
  std::string ask(std::int32_t type, const std::string& body, std::int32_t xid = 1);
  void send_frame(const std::string& body) const;
  [[nodiscard]] std::string read_frame() const;

  int socket_;
  bool has_ended_ = false;
};

}  // namespace holdfast::test
