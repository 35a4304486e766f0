// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>

#include "faults/postgresql/on_postgresql.hpp"
#include "support/reserved_port.hpp"

namespace holdfast::faults {

/// What a client may leave in a session for the next one.
inline constexpr const char* settings_of_session =
    "SELECT string_agg(name || '=' || setting, ' ' ORDER BY name) FROM pg_settings WHERE name <> "
    "'application_name' AND name NOT LIKE 'transaction%' AND name NOT LIKE 'plpgsql%'";

/// A pooler of a server, which takes whoever comes.
class pgbouncer {
 public:
  pgbouncer(const postgresql_server& server, const std::string& mode, const std::string& lines = {}) {
    write_bytes(
        configuration(),
        "[databases]\nholdfast = host=127.0.0.1 port=" + std::to_string(server.port()) +
            " user=holdfast\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = " + std::to_string(port()) +
            "\nunix_socket_dir =\nauth_type = any\npool_mode = " + mode + '\n' + lines);
    user_ = test::unprivileged_user("postgres");
    if (user_) test::hand_over(folder_.path(), *user_);
    start();
  }

  [[nodiscard]] std::uint16_t port() const { return port_.number(); }
  [[nodiscard]] std::unique_ptr<test::postgresql_console> console() const {
    return std::make_unique<test::postgresql_console>("host=127.0.0.1 user=holdfast dbname=holdfast port=" +
                                                      std::to_string(port()));
  }
  void stop() { process_->stop(); }
  void go_on() { process_->go_on(); }
  void kill() { process_->kill(); }
  /// After that: on the same port. Returns when it answers.
  void start() {
    process_.emplace(std::vector<std::string>{"pgbouncer", configuration()},
                     test::child_process::settings{
                         .folder = folder_.path().string(), .output = folder_.file("log"), .user = user_});
    const auto wait_limit = boot_clock::now() + 60s;
    while (!console()->connected()) {
      if (!process_->running() || boot_clock::now() > wait_limit) {
        throw std::runtime_error{"pgbouncer does not answer: " + bytes_of(folder_.file("log"))};
      }
      std::this_thread::sleep_for(1ms);
    }
  }

 private:
  [[nodiscard]] std::string configuration() const { return folder_.file("pgbouncer.ini"); }

  test::scratch_folder folder_;
  test::reserved_port port_;
  std::optional<test::server_user> user_;
  std::optional<test::child_process> process_;
};

}  // namespace holdfast::faults
