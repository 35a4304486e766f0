// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/actor.hpp"
#include "support/certificates.hpp"
#include "support/child_process.hpp"
#include "support/postgresql_console.hpp"
#include "support/process_family.hpp"
#include "support/reserved_port.hpp"
#include "support/scratch_folder.hpp"

namespace holdfast::test {

/// A real server with a folder of its own, on a free port of the loopback and on a Unix socket; in it a
/// database "holdfast", which the user "holdfast" owns. Where we are root it runs as "postgres". It is gone,
/// and each of its processes, with this object, with the thread that started it, and with the test process.
class postgresql_server {
 public:
  struct settings {
    std::vector<std::string> lines{};  ///< of its postgresql.conf, after ours
    std::string password{};            ///< of the user "holdfast"; empty: nobody is asked for one
    bool tls = false;        ///< over TCP it takes only who comes by TLS, with a certificate of the authority
    bool durable = false;    ///< commits are on the disk, not only with the system, which a kill leaves alone
    bool own_clock = false;  ///< its wall clock is what `set_clock` says
    int small_disk_kib = 0;  ///< of a disk that only it sees, at `small_disk()`; see small_disk.hpp
  };

  /// The folder that HOLDFAST_TEST_POSTGRESQL names, or else that of the system's newest.
  [[nodiscard]] static std::string programs();

  /// Returns when it answers. \throws std::runtime_error, with its log, when it does not.
  postgresql_server() : postgresql_server(settings{}) {}
  explicit postgresql_server(settings options);
  ~postgresql_server();
  postgresql_server(const postgresql_server&) = delete;
  postgresql_server& operator=(const postgresql_server&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept { return port_.number(); }
  /// Of its Unix socket, as libpq and a URL's `host` have it.
  [[nodiscard]] std::string socket_folder() const { return folder_.path().string(); }
  [[nodiscard]] ::pid_t pid() const noexcept { return process_->pid(); }
  /// That, and one for each connection, and those of its housekeeping.
  [[nodiscard]] std::vector<::pid_t> processes() const { return family_->members(); }
  /// What a client needs for TLS.
  [[nodiscard]] const certificates& authority() const { return *authority_; }
  [[nodiscard]] const certificates::pair& client_pair() const noexcept { return client_pair_; }

  /// Empty at first, and after each start.
  [[nodiscard]] std::string small_disk() const { return folder_.file("disk"); }

  /// A store URL of the user "holdfast"; `rest` follows the database: "?table=other".
  [[nodiscard]] std::string url(std::string_view rest = {}) const;
  /// The same through another port, a proxy's.
  [[nodiscard]] std::string url_through(std::uint16_t port, std::string_view rest = {}) const;
  [[nodiscard]] std::string socket_url(std::string_view rest = {}) const;
  [[nodiscard]] std::string tls_url(std::string_view rest = {}) const;

  /// A statement on a connection that stays open, as the superuser, in the database "holdfast"; see
  /// postgresql_console for the answer.
  std::string ask(const std::string& sql, const std::vector<std::string>& values = {});
  /// The number that it answers. \throws std::runtime_error if it is none.
  std::int64_t number(const std::string& sql, const std::vector<std::string>& values = {});
  /// Another connection of that kind; or as `user`, on the Unix socket.
  [[nodiscard]] std::unique_ptr<postgresql_console> console(const std::string& user = "postgres",
                                                            const std::string& password = {}) const;

  void send(int signal) const { process_->send(signal); }
  /// It and all its processes stand still: connections are taken by the kernel, and what is sent waits.
  void stop();
  void go_on();
  /// As a crash: nobody is notified.
  void kill();
  /// As an operator does it: connections are told and closed, what is under way is rolled back.
  void shut_down();
  /// After either: on the same port, with what it had.
  void start();
  /// After either: it follows nobody, but takes only reading, until `ask("SELECT pg_promote()")`.
  void start_as_standby();

  /// Shifts its wall clock by so much from the real one, from now on.
  void set_clock(std::chrono::seconds ahead);
  [[nodiscard]] std::string log() const;

 private:
  [[nodiscard]] std::string data() const { return folder_.file("data"); }
  [[nodiscard]] std::string credentials() const;
  void provide_certificates();
  void write_configuration() const;
  void launch();
  void expect_answer();
  void forget_shared_memory() const;

  settings settings_;
  scratch_folder folder_;
  std::optional<server_user> user_;
  reserved_port port_;
  std::optional<certificates> authority_;
  certificates::pair server_pair_;
  certificates::pair client_pair_;
  std::optional<process_family> family_;
  std::unique_ptr<actor> undertaker_;
  std::unique_ptr<child_process> process_;
  std::unique_ptr<postgresql_console> console_;
};

}  // namespace holdfast::test
