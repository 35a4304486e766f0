// SPDX-License-Identifier: Apache-2.0
#include "support/postgresql_server.hpp"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <sys/shm.h>

#include "support/postgresql_data.hpp"
#include "support/small_disk.hpp"

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

constexpr auto wait_limit = 60s;  // far longer than a start takes on a loaded machine

/// When the test process is gone, however that came: its server's processes notice the death of their first
/// one by and by, and those that stand still never. $1: the data; $2: the folder around.
constexpr const char* undertaking = R"sh(
trap '' INT TERM HUP
read -r nothing
for round in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  found=
  for each in /proc/[0-9]*; do
    [ "$(readlink "$each/cwd")" = "$1" ] && kill -KILL "${each#/proc/}" && found=1
  done 2>/dev/null
  [ -n "$found" ] || break
  sleep 0.1
done
memory=$(sed -n '7s/.* //p' "$1/postmaster.pid" 2>/dev/null)
[ -z "$memory" ] || ipcrm -m "$memory" 2>/dev/null
rm -rf "$2"
)sh";

}  // namespace

postgresql_server::postgresql_server(settings options)
    : settings_{std::move(options)}, user_{unprivileged_user("postgres")} {
  make_postgresql_data(data(), programs(), user_);
  family_.emplace(data());
  if (settings_.tls) provide_certificates();
  if (settings_.own_clock) {
    set_clock(0s);
    std::filesystem::copy_file(HOLDFAST_TEST_SERVER_CLOCK, folder_.file("clock.so"));
  }
  if (settings_.small_disk_kib > 0) std::filesystem::create_directory(small_disk());
  if (user_) hand_over(folder_.path(), *user_);
  undertaker_ = std::make_unique<actor>(
      std::vector<std::string>{"/bin/sh", "-c", undertaking, "sh",
                               std::filesystem::canonical(data()).string(), folder_.path().string()},
      std::vector<std::string>{});
  write_configuration();
  launch();
  try {
    expect_answer();
  } catch (const std::runtime_error&) {
    kill();
    throw;
  }
  if (!settings_.password.empty()) ask("ALTER ROLE holdfast PASSWORD '" + settings_.password + '\'');
}

postgresql_server::~postgresql_server() {
  try {
    kill();
  } catch (const std::exception&) {
    undertaker_->finish();
  }
}

std::string postgresql_server::programs() {
  if (const char* named = std::getenv("HOLDFAST_TEST_POSTGRESQL"); named != nullptr) return named;
  const std::filesystem::path all{"/usr/lib/postgresql"};
  int newest = 0;
  if (std::filesystem::is_directory(all)) {
    for (const auto& each : std::filesystem::directory_iterator{all}) {
      if (!std::filesystem::exists(each.path() / "bin" / "postgres")) continue;  // a client's
      newest = std::max(newest, std::atoi(each.path().filename().c_str()));
    }
  }
  if (newest == 0) throw std::runtime_error{"no PostgreSQL server is installed"};
  return (all / std::to_string(newest) / "bin").string();
}

void postgresql_server::provide_certificates() {
  authority_.emplace(folder_);
  server_pair_ = authority_->issue("server", "DNS:localhost,IP:127.0.0.1");
  client_pair_ = authority_->issue("client", "DNS:client");
}

void postgresql_server::write_configuration() const {
  std::ofstream file{data() + "/postgresql.conf", std::ios::trunc};
  // The memory of parallel work in the folder, where it is removed with it; little of everything.
  file << "listen_addresses = '127.0.0.1'\nport = " << port() << "\nunix_socket_directories = '"
       << socket_folder() << "'\ndynamic_shared_memory_type = mmap\nshared_buffers = 16MB\n"
       << "max_wal_size = 64MB\nmin_wal_size = 8MB\njit = off\nfsync = " << (settings_.durable ? "on" : "off")
       << '\n';
  if (settings_.tls) {
    file << "ssl = on\nssl_ca_file = '" << authority_->authority() << "'\nssl_cert_file = '"
         << server_pair_.certificate << "'\nssl_key_file = '" << server_pair_.key << "'\n";
  }
  for (const auto& line : settings_.lines) file << line << '\n';
  const char* method = settings_.password.empty() ? "trust" : "scram-sha-256";
  std::ofstream access{data() + "/pg_hba.conf", std::ios::trunc};
  access << "local all postgres trust\nlocal all all " << method << '\n'
         << (settings_.tls ? "hostssl" : "host") << " all all 127.0.0.1/32 " << method
         << (settings_.tls ? " clientcert=verify-ca\n" : "\n");
}

void postgresql_server::launch() {
  child_process::settings where{
      .folder = folder_.path().string(), .output = folder_.file("log"), .user = user_};
  if (settings_.own_clock) {
    where.environment = {"LD_PRELOAD=" + folder_.file("clock.so"),
                         "HOLDFAST_TEST_WALL_CLOCK=" + folder_.file("clock")};
  }
  std::vector<std::string> arguments;
  if (settings_.small_disk_kib > 0) {
    arguments = on_small_disk(settings_.small_disk_kib, user_.value(), small_disk());
    where.user.reset();  // it becomes that by itself
  }
  for (const auto& each : {programs() + "/postgres", std::string{"-D"}, data()}) arguments.push_back(each);
  process_ = std::make_unique<child_process>(arguments, where);
}

void postgresql_server::expect_answer() {
  const auto deadline = std::chrono::steady_clock::now() + wait_limit;
  while (std::chrono::steady_clock::now() < deadline) {
    auto attempt = console();
    if (attempt->ask("SELECT 1") == "1") {
      console_ = std::move(attempt);
      return;
    }
    if (process_->wait(5ms)) throw std::runtime_error{"postgres ended: " + log()};
  }
  throw std::runtime_error{"postgres does not answer: " + log()};
}

std::string postgresql_server::credentials() const {
  return settings_.password.empty() ? "holdfast@" : "holdfast:" + settings_.password + '@';
}

std::string postgresql_server::url(std::string_view rest) const { return url_through(port(), rest); }

std::string postgresql_server::url_through(std::uint16_t port, std::string_view rest) const {
  return "postgresql://" + credentials() + "127.0.0.1:" + std::to_string(port) + "/holdfast" +
         std::string{rest};
}

std::string postgresql_server::socket_url(std::string_view rest) const {
  const bool more = rest.find('?') != std::string_view::npos;
  return "postgresql://" + credentials() + "localhost:" + std::to_string(port()) + "/holdfast" +
         std::string{rest} + (more ? '&' : '?') + "host=" + socket_folder();
}

std::string postgresql_server::tls_url(std::string_view rest) const {
  const bool more = rest.find('?') != std::string_view::npos;
  return "postgresql://" + credentials() + "localhost:" + std::to_string(port()) + "/holdfast" +
         std::string{rest} + (more ? '&' : '?') +
         "sslmode=verify-full&sslrootcert=" + authority_->authority() +
         "&sslcert=" + client_pair_.certificate + "&sslkey=" + client_pair_.key;
}

std::string postgresql_server::ask(const std::string& sql, const std::vector<std::string>& values) {
  if (console_ == nullptr || !console_->connected()) console_ = console();
  return console_->ask(sql, values);
}

std::int64_t postgresql_server::number(const std::string& sql, const std::vector<std::string>& values) {
  const auto answer = ask(sql, values);
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(answer.data(), answer.data() + answer.size(), value);
  if (problem == std::errc{} && end == answer.data() + answer.size()) return value;
  throw std::runtime_error{sql + ": no number: " + answer};
}

std::unique_ptr<postgresql_console> postgresql_server::console(const std::string& user,
                                                               const std::string& password) const {
  std::string where = "dbname=holdfast user=" + user + " host='" + socket_folder() + "' port=";
  where.append(std::to_string(port()));
  if (!password.empty()) where.append(" password='").append(password).append("'");
  return std::make_unique<postgresql_console>(where);
}

void postgresql_server::stop() { family_->stop(); }

void postgresql_server::go_on() { family_->go_on(); }

void postgresql_server::kill() {
  family_->kill();
  if (process_ != nullptr) process_->kill();
  forget_shared_memory();
  console_.reset();
}

void postgresql_server::shut_down() {
  send(SIGINT);
  if (!process_->wait(wait_limit)) throw std::runtime_error{"postgres does not end: " + log()};
  console_.reset();
}

void postgresql_server::start() {
  launch();
  expect_answer();
}

void postgresql_server::start_as_standby() {
  const auto signal = data() + "/standby.signal";
  std::ofstream{signal}.flush();
  if (user_) hand_over(signal, *user_);
  start();
}

/// A segment by which a server knows that another has its folder, and which a killed one leaves behind.
void postgresql_server::forget_shared_memory() const {
  std::ifstream file{data() + "/postmaster.pid"};
  std::string line;
  for (int number = 1; number <= 7; ++number) std::getline(file, line);
  std::istringstream key_and_id{line};
  long key = 0;
  int id = 0;
  if (key_and_id >> key >> id) ::shmctl(id, IPC_RMID, nullptr);
}

void postgresql_server::set_clock(std::chrono::seconds ahead) {
  // In one step, so that the server never reads half of it.
  const auto file = folder_.file("clock");
  std::ofstream{file + ".new"} << ahead.count() << '\n';
  std::filesystem::rename(file + ".new", file);
}

std::string postgresql_server::log() const { return contents(folder_.file("log")); }

}  // namespace holdfast::test
