// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/certificates.hpp"
#include "support/child_process.hpp"
#include "support/mariadb_console.hpp"
#include "support/reserved_port.hpp"
#include "support/scratch_folder.hpp"

namespace holdfast::test {

/// A real MariaDB with a folder of its own, on a free port of the loopback and on a Unix socket. It is gone
/// with this object, and with the thread that started it.
///
/// It has a database `holdfast` and a user of that name and password `secret`, who may do everything in that
/// database and nothing elsewhere; `root` has no password, and comes by the socket alone.
class mariadb_server {
 public:
  struct settings {
    std::vector<std::string> options{};  ///< of its command line, after ours: "--max-connections=5"
    std::string tls{};                   ///< whom its certificate is for: "DNS:localhost"; empty: it has none
    bool own_clock = false;              ///< its wall clock is what `set_clock` says
    /// Of a disk that only it sees, at `small_disk()`, for the tables of `holdfast`; see small_disk.hpp.
    int small_disk_kib = 0;
  };

  /// Returns when it answers. \throws std::runtime_error, with its log, when it does not.
  mariadb_server() : mariadb_server(settings{}) {}
  explicit mariadb_server(settings options);

  [[nodiscard]] std::uint16_t port() const noexcept { return port_.number(); }
  [[nodiscard]] std::string socket() const { return folder_.file("mariadb.sock"); }
  /// A file in a folder that the server may read, beside its data.
  [[nodiscard]] std::string file(std::string_view name) const { return folder_.file(name); }
  [[nodiscard]] ::pid_t pid() const noexcept { return process_->pid(); }
  [[nodiscard]] std::string small_disk() const { return folder_.file("data") + "/holdfast"; }
  /// What a client needs to trust it.
  [[nodiscard]] const certificates& authority() const { return *authority_; }

  /// A store URL for the user `holdfast`; `rest` follows the database: "?table=other".
  [[nodiscard]] std::string url(std::string_view rest = {}) const;
  /// The same by the Unix socket.
  [[nodiscard]] std::string socket_url(std::string_view more_options = {}) const;

  /// One statement, on a connection that stays open, as root, in the database `holdfast`.
  mariadb_console::rows ask(std::string_view sql);
  /// A number that it answers: "SELECT count(*) FROM …".
  std::int64_t number(std::string_view sql);
  /// Another connection, as root or as somebody else.
  [[nodiscard]] std::unique_ptr<mariadb_console> console(const mariadb_console::account& login = {
                                                             "root", "", "holdfast"}) const;
  /// A number in SHOW GLOBAL STATUS: "Com_call_procedure".
  std::int64_t status(std::string_view variable);

  void send(int signal) const { process_->send(signal); }
  /// Stands still: connections are taken by the kernel, and what is sent to it waits.
  void stop();
  void go_on();
  /// As a crash: nobody is notified; what it has confirmed is in its folder.
  void kill();
  /// Ends as an administrator would end it.
  void shut_down();
  /// After `kill()` or `shut_down()`: on the same port, with what is in its folder.
  void start();
  /// After `kill()` or `shut_down()`: with nothing but the database and the user.
  void start_empty();

  /// Shifts its wall clock by so much from the real one, from now on.
  void set_clock(std::chrono::milliseconds ahead);
  [[nodiscard]] std::string log() const;

 private:
  void make_data() const;
  void launch();
  void expect_answer();
  [[nodiscard]] std::vector<std::string> command_line() const;

  settings settings_;
  scratch_folder folder_;
  reserved_port port_;
  std::optional<certificates> authority_;
  certificates::pair pair_;
  std::unique_ptr<child_process> process_;
  std::unique_ptr<mariadb_console> console_;
};

}  // namespace holdfast::test
