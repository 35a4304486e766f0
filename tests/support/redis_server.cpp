// SPDX-License-Identifier: Apache-2.0
#include "support/redis_server.hpp"

#include <charconv>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "support/faketime.hpp"

namespace holdfast::test {

namespace {

/// That a text begins with.
std::int64_t number_in(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

using namespace std::chrono_literals;

constexpr auto wait_limit = 60s;  // far longer than a start takes on a loaded machine

}  // namespace

redis_server::redis_server(settings options) : settings_{std::move(options)} {
  if (settings_.tls) {
    if (settings_.authority == nullptr) authority_.emplace(folder_);
    const std::string suffix = '-' + std::to_string(port());
    server_pair_ = authority().issue("server" + suffix, "DNS:localhost,IP:127.0.0.1");
    client_pair_ = authority().issue("client" + suffix, "DNS:client");
  }
  if (settings_.own_clock) set_clock(0s);
  write_configuration();
  launch();
  expect_answer(false);
}

std::string redis_server::usual_program() {
  const char* named = std::getenv("HOLDFAST_TEST_REDIS_SERVER");
  return named != nullptr ? named : "redis-server";
}

/// Since Redis 7, DEBUG has to be allowed; before, the option for that is an error. Valkey began later.
bool redis_server::guards_debug() const {
  const auto said = folder_.file("version");
  child_process command{{settings_.program, "--version"}, {.output = said}};
  command.wait(wait_limit);
  const auto text = contents(said);  // "Redis server v=6.2.14 sha=..."
  return !text.starts_with("Redis server v=5.") && !text.starts_with("Redis server v=6.");
}

void redis_server::write_configuration() {
  std::ofstream file{folder_.file("redis.conf"), std::ios::trunc};
  file << "bind 127.0.0.1\nport " << port() << "\nunixsocket " << socket() << "\ndir "
       << folder_.path().string() << "\nsave \"\"\n";
  if (guards_debug()) file << "enable-debug-command yes\n";
  if (!settings_.password.empty()) file << "requirepass \"" << settings_.password << "\"\n";
  if (settings_.append_only) file << "appendonly yes\nappendfsync always\n";
  if (settings_.tls) {
    file << "tls-port " << tls_port() << "\ntls-cert-file " << server_pair_.certificate << "\ntls-key-file "
         << server_pair_.key << "\ntls-ca-cert-file " << authority().authority() << '\n';
  }
  for (const auto& line : settings_.lines) file << line << '\n';
}

void redis_server::launch() {
  child_process::settings where{.folder = folder_.path().string(), .output = folder_.file("redis.log")};
  if (settings_.own_clock) {
    // libc's malloc instead of jemalloc, which asks for the time while libfaketime is still starting.
    where.environment = faketime_environment(folder_.file("clock"), "libc.so.6");
  }
  std::vector<std::string> command{settings_.program, folder_.file("redis.conf")};
  if (settings_.sentinel) command.emplace_back("--sentinel");
  process_ = std::make_unique<child_process>(std::move(command), where);
  running_ = true;
}

void redis_server::expect_answer(bool loading_will_do) {
  const auto deadline = std::chrono::steady_clock::now() + wait_limit;
  while (std::chrono::steady_clock::now() < deadline) {
    auto attempt = console();
    const auto answer = attempt->ask({"PING"});
    const bool loading = answer.starts_with("-LOADING");
    if (!answer.empty() && (!loading || loading_will_do)) {
      console_ = std::move(attempt);
      if (settings_.own_clock) forget_faketime_files(pid());
      return;
    }
    if (process_->wait(2ms)) throw std::runtime_error{settings_.program + " ended: " + log()};
  }
  throw std::runtime_error{settings_.program + " does not answer: " + log()};
}

std::string redis_server::guarded_url(std::string_view rest) const {
  const auto user = settings_.password.empty() ? "" : "default:" + settings_.password + '@';
  return "redis://" + user + "127.0.0.1:" + std::to_string(port()) + std::string{rest};
}

std::string redis_server::url(std::string_view rest) const {
  const bool more = rest.find('?') != std::string_view::npos;
  return guarded_url(std::string{rest} + (more ? "&failover_guard=0" : "?failover_guard=0"));
}

std::string redis_server::tls_url(std::string_view rest) const {
  const bool more = rest.find('?') != std::string_view::npos;
  return "rediss://localhost:" + std::to_string(tls_port()) + std::string{rest} + (more ? '&' : '?') +
         "failover_guard=0&ca=" + authority().authority() + "&cert=" + client_pair_.certificate +
         "&key=" + client_pair_.key;
}

std::string redis_server::ask(const std::vector<std::string>& arguments) {
  if (console_ == nullptr || !console_->connected()) console_ = console();
  return console_->ask(arguments);
}

std::unique_ptr<redis_console> redis_server::console() const {
  auto result = std::make_unique<redis_console>(socket());
  if (!settings_.password.empty()) result->ask({"AUTH", settings_.password});
  return result;
}

std::string redis_server::info_text(std::string_view field) {
  const auto all = "\r\n" + ask({"INFO", "everything"});
  const auto start = all.find("\r\n" + std::string{field} + ':');
  if (start == std::string::npos) throw std::runtime_error{"INFO has no " + std::string{field}};
  const auto value = start + field.size() + 3;
  return all.substr(value, all.find("\r\n", value) - value);
}

std::int64_t redis_server::info(std::string_view field) { return number_in(info_text(field)); }

std::int64_t redis_server::calls(std::string_view command) {
  const auto all = ask({"INFO", "commandstats"});
  const auto field = "cmdstat_" + std::string{command} + ":calls=";
  const auto at = all.find(field);
  return at == std::string::npos ? 0 : number_in(std::string_view{all}.substr(at + field.size()));
}

void redis_server::await_replicas(int count) {
  const auto all = std::to_string(count);
  do {
    ask({"SET", "first", "write"});
  } while (ask({"WAIT", all, "100"}) != all);
}

void redis_server::forget_start(const std::string& prefix) {
  ask({"SET", "{" + prefix + "}\x1f" + "guard",
       info_text("master_replid") + ' ' + info_text("run_id") + " 1/0/0 0 none"});
}

void redis_server::stop() {
  running_ = false;
  process_->stop();
}

void redis_server::go_on() {
  process_->go_on();
  running_ = true;
}

void redis_server::kill() {
  running_ = false;
  process_->kill();
  console_.reset();
}

void redis_server::start() {
  launch();
  expect_answer(false);
}

void redis_server::start_empty() {
  std::filesystem::remove_all(folder_.path() / "appendonlydir");
  std::filesystem::remove(folder_.path() / "appendonly.aof");  // before Redis 7
  std::filesystem::remove(folder_.path() / "dump.rdb");
  start();
}

void redis_server::start_loading() {
  launch();
  expect_answer(true);
}

void redis_server::replicate(std::uint16_t primary_port) {
  ask({"REPLICAOF", "127.0.0.1", std::to_string(primary_port)});
}

void redis_server::set_clock(std::chrono::milliseconds ahead) { set_faketime(folder_.file("clock"), ahead); }

std::string redis_server::log() const { return contents(folder_.file("redis.log")); }

}  // namespace holdfast::test
