// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/child_process.hpp"
#include "support/reserved_port.hpp"
#include "support/scratch_folder.hpp"

namespace holdfast::test {

/// A real ZooKeeper with a folder of its own, on a free port of the loopback. It is gone with this object,
/// and with the thread that started it. It takes a second to start: tests of one process share one.
class zookeeper_server {
 public:
  struct settings {
    /// Its measure of time: sessions may be asked for that live two ticks and more, and expire on a tick.
    std::chrono::milliseconds tick{200};
    /// How often it removes containers that have become empty.
    std::chrono::milliseconds container_check{1000};
    std::vector<std::string> lines{};    ///< of its configuration, after ours
    std::vector<std::string> options{};  ///< of its Java: "-Dzookeeper.superUser=…"
    bool observes = false;               ///< in an ensemble: without a vote
    int number = 0;                      ///< in an ensemble; 0: it stands alone
    std::string host{"127.0.0.1"};       ///< the address that it listens on
    std::vector<std::string> before{};   ///< arguments before its command: "ip netns exec …"
  };

  /// Returns when it serves; a member of an ensemble may not before others are there, and is not waited for.
  /// \throws std::runtime_error, with its log, when it does not.
  zookeeper_server() : zookeeper_server(settings{}) {}
  explicit zookeeper_server(settings options);

  [[nodiscard]] std::uint16_t port() const noexcept { return port_.number(); }
  [[nodiscard]] const std::string& host() const noexcept { return settings_.host; }
  /// "127.0.0.1:2181", as a store URL and other clients take it.
  [[nodiscard]] std::string address() const;
  /// A store URL; `rest` follows the port: "/chroot?session_timeout=1s".
  [[nodiscard]] std::string url(std::string_view rest = {}) const;
  [[nodiscard]] ::pid_t pid() const noexcept { return process_->pid(); }

  /// What it answers to one of its administrative commands, "mntr", "cons", "wchp", "dump"; empty when it
  /// does not.
  [[nodiscard]] std::string four_letter(std::string_view command) const;
  /// A number in what "mntr" says: "zk_watch_count".
  [[nodiscard]] std::int64_t monitored(std::string_view field) const;
  /// "standalone", "leader", "follower"; empty while it does not serve.
  [[nodiscard]] std::string mode() const;

  void send(int signal) const { process_->send(signal); }
  /// Stands still: connections are taken by the kernel, and what is sent to it waits.
  void stop();
  void go_on();
  /// As a crash: nobody is notified; what it has confirmed is in its folder.
  void kill();
  /// After `kill()`: on the same port, with what is in its folder.
  void start();
  /// After `kill()`: with nothing.
  void start_empty();
  /// The halves of `start()`, for members that need each other to serve.
  void launch();
  void expect_service();

  /// Between `kill()` and `start()`: a node's next child will have this number. ZooKeeper must keep no
  /// digests ("-Dzookeeper.digest.enabled=false").
  /// \throws std::runtime_error if the last start found no such node.
  void set_next_number(const std::string& node, std::int32_t number) const;

  [[nodiscard]] std::string log() const;

 private:
  void write_configuration() const;

  settings settings_;
  scratch_folder folder_;
  reserved_port port_;
  std::unique_ptr<child_process> process_;
};

}  // namespace holdfast::test
