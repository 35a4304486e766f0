// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/certificates.hpp"
#include "support/child_process.hpp"
#include "support/redis_console.hpp"
#include "support/reserved_port.hpp"
#include "support/scratch_folder.hpp"

namespace holdfast::test {

/// A real server with a folder of its own, on a free port of the loopback and on a Unix socket. It is gone
/// with this object, and with the thread that started it.
class redis_server {
 public:
  struct settings {
    std::string program = usual_program();
    std::vector<std::string> lines{};         ///< of its configuration, after ours
    std::string password{};                   ///< of the user "default"; empty: none is asked for
    bool tls = false;                         ///< a second port, which asks for a client's certificate
    const certificates* authority = nullptr;  ///< of its certificate; null: one of its own
    bool sentinel = false;                    ///< a Sentinel instead, which `lines` tell what to monitor
    bool append_only = false;                 ///< every write is on the disk before its reply
    bool own_clock = false;                   ///< its wall clock is what `set_clock` says
  };

  /// What HOLDFAST_TEST_REDIS_SERVER names, or else the system's redis-server.
  [[nodiscard]] static std::string usual_program();

  /// Returns when it answers. \throws std::runtime_error, with its log, when it does not.
  redis_server() : redis_server(settings{}) {}
  explicit redis_server(settings options);

  [[nodiscard]] std::uint16_t port() const noexcept { return port_.number(); }
  [[nodiscard]] std::uint16_t tls_port() const noexcept { return tls_port_.number(); }
  [[nodiscard]] std::string socket() const { return folder_.file("redis.sock"); }
  /// A file in the folder where it keeps its data.
  [[nodiscard]] std::string file(std::string_view name) const { return folder_.file(name); }
  [[nodiscard]] ::pid_t pid() const noexcept { return process_->pid(); }
  /// What a client needs for the TLS port.
  [[nodiscard]] const certificates& authority() const {
    return settings_.authority != nullptr ? *settings_.authority : *authority_;
  }
  [[nodiscard]] const certificates::pair& client_pair() const noexcept { return client_pair_; }

  /// A store URL; `rest` follows the port: "?prefix=a:", "/3". The failover guard is off: the server has just
  /// started, and would grant nothing for a while.
  [[nodiscard]] std::string url(std::string_view rest = {}) const;
  /// The same with the guard that `rest` names, or the default one.
  [[nodiscard]] std::string guarded_url(std::string_view rest = {}) const;
  [[nodiscard]] std::string tls_url(std::string_view rest = {}) const;

  /// A command on a connection that stays open, as the user "default"; see redis_console for the reply.
  std::string ask(const std::vector<std::string>& arguments);
  /// Another connection, logged in the same.
  [[nodiscard]] std::unique_ptr<redis_console> console() const;
  /// A number in INFO: "connected_clients".
  [[nodiscard]] std::int64_t info(std::string_view field);
  /// Any field there: "run_id".
  [[nodiscard]] std::string info_text(std::string_view field);

  void send(int signal) const { process_->send(signal); }
  /// Stands still: connections are taken by the kernel, and what is sent to it waits.
  void stop();
  void go_on();
  /// As a crash: nobody is notified, nothing saved.
  void kill();
  /// After `kill()`: on the same port, with what is on the disk.
  void start();
  /// After `kill()`: with nothing.
  void start_empty();
  /// As `start()`, but returns when it has a socket, which may be before it has read its data.
  void start_loading();
  /// Says of the failover guard that it is over, for locks with that prefix: as if the server had been there
  /// for long.
  void forget_start(const std::string& prefix = "holdfast:");
  /// How often a command was carried out: "client|kill". Zero since CONFIG RESETSTAT.
  [[nodiscard]] std::int64_t calls(std::string_view command);
  /// Returns when so many replicas have what is written now.
  void await_replicas(int count);
  void replicate(const redis_server& primary) { replicate(primary.port()); }
  /// The same through a proxy.
  void replicate(std::uint16_t primary_port);

  /// Shifts its wall clock by so much from the real one, from now on.
  void set_clock(std::chrono::milliseconds ahead);
  [[nodiscard]] std::string log() const;
  /// Neither killed nor stopped.
  [[nodiscard]] bool is_running() const noexcept { return running_; }

 private:
  [[nodiscard]] bool guards_debug() const;
  void write_configuration();
  void launch();
  void expect_answer(bool loading_will_do);

  settings settings_;
  scratch_folder folder_;
  reserved_port port_;
  reserved_port tls_port_;
  std::optional<certificates> authority_;
  certificates::pair server_pair_;
  certificates::pair client_pair_;
  std::unique_ptr<child_process> process_;
  bool running_ = false;
  std::unique_ptr<redis_console> console_;
};

}  // namespace holdfast::test
