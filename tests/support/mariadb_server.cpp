// SPDX-License-Identifier: Apache-2.0
#include "support/mariadb_server.hpp"

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <unistd.h>

#include "support/faketime.hpp"
#include "support/kept_template.hpp"
#include "support/small_disk.hpp"

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr auto wait_limit = 60s;  // far longer than a start takes on a loaded machine

/// The server refuses to run as root.
const std::optional<server_user>& its_user() {
  static const auto user = unprivileged_user("mysql");
  return user;
}

void give(const fs::path& path) {
  if (its_user()) hand_over(path, *its_user());
}

/// For the server and for what makes its data alike: what is not said here is in no file of the system's.
std::vector<std::string> common_options(const fs::path& data) {
  return {
      "--no-defaults", "--datadir=" + data.string(),
      // Not where others are: a server that starts removes the temporary tables of all that share the folder.
      "--tmpdir=" + data.parent_path().string(), "--innodb-log-file-size=8M",
      "--innodb-data-file-path=ibdata1:5M:autoextend", "--innodb-autoextend-increment=1",
      "--innodb-buffer-pool-size=24M"};
}

constexpr std::string_view first_statements =
    "FLUSH PRIVILEGES;\n"  // which are skipped until then
    "CREATE DATABASE holdfast;\n"
    "CREATE USER holdfast@'%' IDENTIFIED BY 'secret';\n"
    "GRANT ALL PRIVILEGES ON holdfast.* TO holdfast@'%';\n";

/// \return the data folder, in `in`.
fs::path made(const scratch_folder& in) {
  std::ofstream{in.file("first.sql")} << first_statements;
  give(in.path());
  const fs::path data = in.path() / "data";
  std::vector<std::string> command = common_options(data);
  command.insert(command.begin(), "mariadb-install-db");
  for (const char* option : {"--auth-root-authentication-method=normal", "--skip-test-db"}) {
    command.emplace_back(option);
  }
  command.push_back("--extra-file=" + in.file("first.sql"));
  child_process making{command, {.folder = in.path().string(), .output = in.file("log"), .user = its_user()}};
  constexpr auto patience_with_disks = 300s;  // it has hundreds of writes forced
  if (making.wait(patience_with_disks) != 0)
    throw std::runtime_error{"mariadb-install-db: " + contents(in.file("log"))};
  return data;
}

}  // namespace

mariadb_server::mariadb_server(settings options) : settings_{std::move(options)} {
  if (!settings_.tls.empty()) {
    authority_.emplace(folder_);
    pair_ = authority_->issue("server", settings_.tls);
  }
  give(folder_.path());
  if (settings_.own_clock) set_clock(0s);
  make_data();
  launch();
  expect_answer();
}

void mariadb_server::make_data() const {
  const fs::path data = folder_.path() / "data";
  fs::remove_all(data);
  copy_template("mariadb", made, data);
  give(data);
}

std::vector<std::string> mariadb_server::command_line() const {
  std::vector<std::string> command = common_options(folder_.path() / "data");
  command.insert(command.begin(), "mariadbd");
  // Half a second of commits may be lost with the machine, but nothing with the process.
  for (const char* option : {"--bind-address=127.0.0.1", "--skip-name-resolve",
                             "--innodb-flush-log-at-trx-commit=2", "--skip-log-bin"}) {
    command.emplace_back(option);
  }
  command.push_back("--port=" + std::to_string(port()));
  command.push_back("--socket=" + socket());
  command.push_back("--pid-file=" + folder_.file("pid"));
  if (!settings_.tls.empty()) {
    command.push_back("--ssl-cert=" + pair_.certificate);
    command.push_back("--ssl-key=" + pair_.key);
    command.push_back("--ssl-ca=" + authority_->authority());
  }
  command.insert(command.end(), settings_.options.begin(), settings_.options.end());
  return command;
}

void mariadb_server::launch() {
  child_process::settings where{
      .folder = folder_.path().string(), .output = folder_.file("log"), .user = its_user()};
  if (settings_.own_clock) where.environment = faketime_environment(folder_.file("clock"));
  auto arguments = command_line();
  if (settings_.small_disk_kib > 0) {
    const auto before = on_small_disk(settings_.small_disk_kib, its_user().value(), small_disk());
    arguments.insert(arguments.begin(), before.begin(), before.end());
    where.user.reset();  // it becomes that by itself
  }
  process_ = std::make_unique<child_process>(arguments, where);
}

void mariadb_server::expect_answer() {
  const auto deadline = std::chrono::steady_clock::now() + wait_limit;
  std::string last;
  while (std::chrono::steady_clock::now() < deadline) {
    try {
      console_ = console();
      if (settings_.own_clock) forget_faketime_files(pid());
      return;
    } catch (const mariadb_error& e) {
      last = e.what();
    }
    if (process_->wait(5ms)) throw std::runtime_error{"mariadbd ended: " + log()};
  }
  throw std::runtime_error{"mariadbd does not answer (" + last + "): " + log()};
}

std::string mariadb_server::url(std::string_view rest) const {
  return "mysql://holdfast:secret@127.0.0.1:" + std::to_string(port()) + "/holdfast" + std::string{rest};
}

std::string mariadb_server::socket_url(std::string_view more_options) const {
  return "mysql://holdfast:secret@localhost/holdfast?socket=" + socket() + std::string{more_options};
}

mariadb_console::rows mariadb_server::ask(std::string_view sql) {
  if (console_ == nullptr) console_ = console();
  return console_->ask(sql);
}

std::int64_t mariadb_server::number(std::string_view sql) { return std::stoll(ask(sql).at(0).at(0)); }

std::unique_ptr<mariadb_console> mariadb_server::console(const mariadb_console::account& login) const {
  return std::make_unique<mariadb_console>(socket(), login);
}

std::int64_t mariadb_server::status(std::string_view variable) {
  return std::stoll(ask("SHOW GLOBAL STATUS LIKE '" + std::string{variable} + "'").at(0).at(1));
}

void mariadb_server::stop() { process_->stop(); }

void mariadb_server::go_on() { process_->go_on(); }

void mariadb_server::kill() {
  process_->kill();
  console_.reset();
}

void mariadb_server::shut_down() {
  console_.reset();
  process_->send(SIGTERM);
  if (!process_->wait(wait_limit)) throw std::runtime_error{"mariadbd does not end: " + log()};
}

void mariadb_server::start() {
  launch();
  expect_answer();
}

void mariadb_server::start_empty() {
  make_data();
  start();
}

void mariadb_server::set_clock(std::chrono::milliseconds ahead) {
  set_faketime(folder_.file("clock"), ahead);
}

std::string mariadb_server::log() const { return contents(folder_.file("log")); }

}  // namespace holdfast::test
