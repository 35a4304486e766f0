// SPDX-License-Identifier: Apache-2.0
#include "support/zookeeper_server.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <netinet/in.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

constexpr auto wait_limit = 60s;  // far longer than a start takes on a loaded machine

/// One question, one answer, and the server closes. Bounded: one that stands still takes connections too.
std::string ask(const std::string& host, std::uint16_t port, std::string_view command) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const ::timeval limit{2, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  ::sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = ::htons(port);
  ::inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  std::string answer;
  if (::connect(socket, reinterpret_cast<::sockaddr*>(&address), sizeof address) == 0 &&
      ::send(socket, command.data(), command.size(), MSG_NOSIGNAL) > 0) {
    char some[16'384];
    ssize_t count = 0;
    while ((count = ::recv(socket, some, sizeof some, 0)) > 0) {
      answer.append(some, static_cast<std::size_t>(count));
    }
    if (count < 0) answer.clear();  // a part is no answer
  }
  ::close(socket);
  return answer;
}

/// What follows `key` on its line; empty without such a line.
std::string line_after(const std::string& text, std::string_view key) {
  const auto all = '\n' + text;
  const auto start = all.find('\n' + std::string{key});
  if (start == std::string::npos) return {};
  const auto from = start + 1 + key.size();
  return all.substr(from, all.find('\n', from) - from);
}

std::string big_endian(std::uint64_t value, unsigned size) {
  std::string bytes;
  for (; size > 0; --size) bytes += static_cast<char>(value >> (8 * (size - 1)) & 0xFFU);
  return bytes;
}

/// A size; none where there is nothing, not even nothing.
std::size_t number_at(const std::string& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (const char byte : bytes.substr(at, 4)) value = value << 8U | static_cast<unsigned char>(byte);
  return value == 0xFFFF'FFFF ? 0 : value;
}

/// Adler-32.
std::uint64_t sum_of(const std::string& bytes) {
  constexpr std::uint64_t prime = 65521;
  std::uint64_t low = 1;
  std::uint64_t high = 0;
  for (const char byte : bytes) {
    low = (low + static_cast<unsigned char>(byte)) % prime;
    high = (high + low) % prime;
  }
  return high << 16U | low;
}

}  // namespace

zookeeper_server::zookeeper_server(settings options) : settings_{std::move(options)} {
  std::filesystem::create_directory(folder_.path() / "data");
  write_configuration();
  launch();
  if (settings_.number == 0) expect_service();
}

void zookeeper_server::write_configuration() const {
  std::ofstream file{folder_.file("zoo.cfg"), std::ios::trunc};
  file << "dataDir=" << folder_.file("data") << "\nclientPort=" << port()
       << "\nclientPortAddress=" << settings_.host
       << "\nmaxClientCnxns=0\nadmin.enableServer=false\n"
          "4lw.commands.whitelist=*\ntickTime="
       << settings_.tick.count() << "\nminSessionTimeout=" << 2 * settings_.tick.count()
       << "\nmaxSessionTimeout=60000\ninitLimit=50\nsyncLimit=10\n";
  for (const auto& line : settings_.lines) file << line << '\n';
  if (settings_.number != 0) std::ofstream{folder_.file("data/myid")} << settings_.number << '\n';
}

void zookeeper_server::launch() {
  // Quick to start and small, rather than quick later. No performance data: that is a file which a kill
  // leaves behind. No forced writes: a killed process loses nothing without them, only a machine does.
  std::vector<std::string> arguments = settings_.before;
  arguments.insert(
      arguments.end(),
      {"java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
       "-Dzookeeper.jmx.log4j.disable=true", "-Dzookeeper.forceSync=no", "-Dzookeeper.preAllocSize=1024",
       "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
       "-Dznode.container.checkIntervalMs=" + std::to_string(settings_.container_check.count())});
  arguments.insert(arguments.end(), settings_.options.begin(), settings_.options.end());
  // Debian's jar names the others that it needs.
  arguments.insert(arguments.end(),
                   {"-cp", "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar",
                    "org.apache.zookeeper.server.quorum.QuorumPeerMain", folder_.file("zoo.cfg")});
  process_ = std::make_unique<child_process>(
      arguments,
      child_process::settings{.folder = folder_.path().string(), .output = folder_.file("zookeeper.log")});
}

void zookeeper_server::expect_service() {
  const auto deadline = std::chrono::steady_clock::now() + wait_limit;
  while (std::chrono::steady_clock::now() < deadline) {
    if (four_letter("conf").find(folder_.file("data")) != std::string::npos) return;
    if (process_->wait(10ms)) throw std::runtime_error{"zookeeper ended: " + log()};
  }
  throw std::runtime_error{"zookeeper does not serve: " + log()};
}

std::string zookeeper_server::address() const { return settings_.host + ':' + std::to_string(port()); }

std::string zookeeper_server::url(std::string_view rest) const {
  return "zk://" + address() + std::string{rest};
}

std::string zookeeper_server::four_letter(std::string_view command) const {
  return ask(settings_.host, port(), command);
}

std::int64_t zookeeper_server::monitored(std::string_view field) const {
  const auto end = std::chrono::steady_clock::now() + wait_limit;
  std::string all = four_letter("mntr");
  while (all.empty() && std::chrono::steady_clock::now() < end) all = four_letter("mntr");  // it stands still
  const auto digits = line_after(all, std::string{field} + '\t');
  std::int64_t value = 0;
  const auto [rest, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (problem != std::errc{}) throw std::runtime_error{"mntr has no " + std::string{field}};
  return value;
}

std::string zookeeper_server::mode() const { return line_after(four_letter("srvr"), "Mode: "); }

void zookeeper_server::stop() { process_->stop(); }

void zookeeper_server::go_on() { process_->go_on(); }

void zookeeper_server::kill() { process_->kill(); }

void zookeeper_server::start() {
  launch();
  expect_service();
}

void zookeeper_server::start_empty() {
  std::filesystem::remove_all(folder_.path() / "data" / "version-2");  // and not what it is told beside it
  start();
}

void zookeeper_server::set_next_number(const std::string& node, std::int32_t number) const {
  // The snapshot that it has taken at its start: names and nodes, sealed by a sum of all before the seal.
  std::filesystem::path newest;
  std::uint64_t newest_change = 0;
  for (const auto& each : std::filesystem::directory_iterator{folder_.path() / "data" / "version-2"}) {
    const std::string name = each.path().filename().string();
    if (!name.starts_with("snapshot.")) continue;
    const auto change = std::stoull(name.substr(9), nullptr, 16);
    if (newest.empty() || change >= newest_change) newest = each.path();
    newest_change = std::max<std::uint64_t>(newest_change, change);
  }
  std::string bytes = contents(newest.string());
  const std::string path = big_endian(node.size(), 4) + node;
  const auto found = bytes.find(path);
  constexpr std::size_t seal = 8 + 5;
  if (found == std::string::npos) throw std::runtime_error{"zookeeper's snapshot has no " + node};
  const auto data = found + path.size();
  const auto size = number_at(bytes, data);
  // Behind the data: its ACL, four times and changes, its version, and there it is.
  bytes.replace(data + 4 + size + 8 + 4 * 8 + 4, 4, big_endian(static_cast<std::uint32_t>(number), 4));
  bytes.replace(bytes.size() - seal, 8, big_endian(sum_of(bytes.substr(0, bytes.size() - seal)), 8));
  std::ofstream{newest, std::ios::binary | std::ios::trunc} << bytes;
}

std::string zookeeper_server::log() const { return contents(folder_.file("zookeeper.log")); }

}  // namespace holdfast::test
