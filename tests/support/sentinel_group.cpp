// SPDX-License-Identifier: Apache-2.0
#include "support/sentinel_group.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <thread>
#include <utility>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

constexpr auto wait_limit = 120s;  // far longer than a failover takes on a loaded machine

template <class Condition>
void await(
    Condition is_so, const std::string& otherwise,
    const std::function<std::string()>& details = [] { return std::string{}; }) {
  const auto end = std::chrono::steady_clock::now() + wait_limit;
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > end) throw std::runtime_error{otherwise + details()};
    std::this_thread::sleep_for(5ms);
  }
}

/// A field of a reply that is a map, as the console prints it: a line for each key and value.
std::string field_of(const std::string& reply, const std::string& name) {
  const std::string lines = '\n' + reply + '\n';
  const auto at = lines.find('\n' + name + '\n');
  if (at == std::string::npos) return {};
  const auto begin = at + name.size() + 2;
  return lines.substr(begin, lines.find('\n', begin) - begin);
}

}  // namespace

sentinel_group::sentinel_group(settings options) : settings_{std::move(options)} {
  if (settings_.tls) authority_.emplace(folder_);
  start_servers();
  start_sentinels();
}

void sentinel_group::start_servers() {
  redis_server::settings one{.lines = settings_.lines,
                             .password = settings_.password,
                             .tls = settings_.tls,
                             .authority = settings_.tls ? &*authority_ : nullptr,
                             .append_only = settings_.append_only};
  one.lines.emplace_back("repl-diskless-sync-delay 0");
  one.lines.emplace_back("replica-announce-ip 127.0.0.1");
  if (settings_.tls) one.lines.emplace_back("tls-replication yes");
  if (!settings_.password.empty()) one.lines.push_back("masterauth \"" + settings_.password + '"');
  for (std::size_t i = 0; i < count; ++i) {
    servers_.push_back(std::make_unique<redis_server>(one));
    if (!settings_.on_lines) continue;
    lines_.push_back(std::make_unique<fault_proxy>(own_port(server(i))));
    server(i).ask({"CONFIG", "SET", "replica-announce-port", std::to_string(port(i))});
  }
  for (std::size_t i = 1; i < count; ++i) server(i).replicate(port(0));
  const auto is_followed = [this] { return server(0).info("connected_slaves") == count - 1; };
  await(is_followed, "the replicas do not follow: " + server(1).log());
}

void sentinel_group::start_sentinels() {
  redis_server::settings one{
      .lines = {"sentinel monitor mymaster 127.0.0.1 " + std::to_string(port(0)) + " 2"},
      .password = settings_.sentinel_password,
      .tls = settings_.tls,
      .authority = settings_.tls ? &*authority_ : nullptr,
      .sentinel = true};
  one.lines.push_back("sentinel down-after-milliseconds mymaster " +
                      std::to_string(settings_.down_after.count()));
  one.lines.emplace_back("sentinel failover-timeout mymaster 3000");
  one.lines.emplace_back("sentinel parallel-syncs mymaster 2");
  if (settings_.tls) one.lines.emplace_back("tls-replication yes");
  if (!settings_.password.empty()) one.lines.push_back("sentinel auth-pass mymaster " + settings_.password);
  if (!settings_.sentinel_password.empty())
    one.lines.push_back("sentinel sentinel-pass " + settings_.sentinel_password);
  one.lines.insert(one.lines.end(), settings_.sentinel_lines.begin(), settings_.sentinel_lines.end());
  for (std::size_t i = 0; i < count; ++i) {
    sentinels_.push_back(std::make_unique<redis_server>(one));
    hurry(sentinel(i));
  }
  for (const auto& each : sentinels_) {
    await(
        [&] {
          const std::string view = each->ask({"SENTINEL", "MASTER", "mymaster"});
          return field_of(view, "num-slaves") == std::to_string(count - 1) &&
                 field_of(view, "num-other-sentinels") == std::to_string(count - 1);
        },
        "a Sentinel does not know all others: " + each->log());
  }
}

/// Makes it ask and tell more often than its configuration can say, and take a pause of this machine less
/// seriously. Not persistent.
void sentinel_group::hurry(redis_server& sentinel) {
  sentinel.ask({"SENTINEL", "DEBUG", "INFO-PERIOD", "200", "PING-PERIOD", "500", "ASK-PERIOD", "100",
                "PUBLISH-PERIOD", "200", "TILT-PERIOD", "1000", "ELECTION-TIMEOUT", "1000"});
}

std::optional<std::size_t> sentinel_group::named_by(redis_server& sentinel) {
  const std::string reply = sentinel.ask({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster"});
  for (std::size_t i = 0; i < count; ++i) {
    if (reply == "127.0.0.1\n" + std::to_string(port(i))) return i;
  }
  return std::nullopt;
}

std::size_t sentinel_group::primary_index() {
  std::size_t found = count;
  await(
      [&] {
        std::vector<std::size_t> votes(count);
        for (const auto& each : sentinels_) {
          if (!each->is_running()) continue;
          if (const auto named = named_by(*each)) ++votes[*named];
        }
        const auto most = std::max_element(votes.begin(), votes.end());
        found = static_cast<std::size_t>(most - votes.begin());
        return *most * 2 > count && server(found).is_running() &&
               server(found).ask({"ROLE"}).starts_with("master");
      },
      "there is no primary");
  return found;
}

/// The primary may change meanwhile: a loaded machine causes failovers, and a former primary follows another
/// one, with no replica of its own.
void sentinel_group::replicate() {
  await(
      [&] {
        redis_server& from = primary();
        from.ask({"SET", "sentinel-group", "write"});
        return from.ask({"WAIT", std::to_string(count - 1), "1000"}) == std::to_string(count - 1);
      },
      "the replicas do not follow", [this] { return clients_of_all(); });
}

/// It is refused as long as another failover is not over, or no replica is known to be good. One that has
/// begun may be given up: then it is asked for again, later than it can take.
void sentinel_group::fail_over() {
  constexpr auto longest = 10s;  // far longer than `failover-timeout`
  const std::int64_t before = epoch();
  auto ask_at = std::chrono::steady_clock::now();
  await(
      [&] {
        if (epoch() > before) return true;
        const auto now = std::chrono::steady_clock::now();
        if (now >= ask_at && sentinel(0).ask({"SENTINEL", "FAILOVER", "mymaster"}) == "OK")
          ask_at = now + longest;
        return false;
      },
      "the Sentinel does not fail over: ", [this] { return sentinel(0).log(); });
  static_cast<void>(primary_index());
}

std::int64_t sentinel_group::epoch() {
  std::vector<std::int64_t> all;
  for (const auto& each : sentinels_) {
    if (!each->is_running()) continue;
    all.push_back(std::stoll("0" + field_of(each->ask({"SENTINEL", "MASTER", "mymaster"}), "config-epoch")));
  }
  std::sort(all.begin(), all.end(), std::greater<>{});
  return all.size() * 2 > count ? all[count / 2] : 0;
}

void sentinel_group::await_failover_after(std::int64_t epoch) {
  await([&] { return this->epoch() > epoch; },
        "there is no failover: ", [this] { return sentinel(0).log(); });
  static_cast<void>(primary_index());
}

void sentinel_group::await_failover_from(std::size_t former) {
  await([&] { return primary_index() != former; },
        "there is no failover: ", [this] { return sentinel(0).log(); });
}

/// The primary may change once more meanwhile: a loaded machine causes failovers.
void sentinel_group::await_clients(int count) {
  await(
      [&] {
        const std::string channels = '\n' + primary().ask({"PUBSUB", "CHANNELS", "holdfast:client:*"});
        const auto found = std::count(channels.begin(), channels.end(), '\n');
        return count == 0 ? channels == "\n" : channels != "\n" && found == count;
      },
      "the clients are not connected to the primary", [this] { return clients_of_all(); });
}

/// Of each server: its role, and the clients' channels there.
std::string sentinel_group::clients_of_all() {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) {
    all += "\nserver " + std::to_string(port(i));
    if (!server(i).is_running()) continue;
    all += ": " + server(i).ask({"ROLE"}) + "\n" + server(i).ask({"PUBSUB", "CHANNELS", "holdfast:client:*"});
  }
  return all + '\n' + sentinel(1).log();
}

void sentinel_group::await_replica(std::size_t index) {
  await([&] { return server(index).ask({"ROLE"}).starts_with("slave"); }, "it does not follow the primary");
}

std::string sentinel_group::url(std::string_view rest) const { return url_at(sentinel_ports(), rest); }

std::string sentinel_group::url_at(const std::vector<std::uint16_t>& ports, std::string_view rest) const {
  const bool more = rest.find('?') != std::string_view::npos;
  return guarded_url_at(ports, std::string{rest} + (more ? "&failover_guard=0" : "?failover_guard=0"));
}

std::string sentinel_group::guarded_url(std::string_view rest) const {
  return guarded_url_at(sentinel_ports(), rest);
}

std::string sentinel_group::guarded_url_at(const std::vector<std::uint16_t>& ports,
                                           std::string_view rest) const {
  std::string url = settings_.tls ? "rediss+sentinel://" : "redis+sentinel://";
  if (!settings_.password.empty()) url += ':' + settings_.password + '@';
  for (const std::uint16_t& port : ports) {
    if (&port != ports.data()) url += ',';
    url += "127.0.0.1:" + std::to_string(port);
  }
  url += "/mymaster" + std::string{rest};
  const auto add = [&](const std::string& option) {
    url += (url.find('?') == std::string::npos ? '?' : '&') + option;
  };
  if (!settings_.sentinel_password.empty()) add("sentinel_password=" + settings_.sentinel_password);
  if (settings_.tls) {
    const certificates::pair& own = servers_.front()->client_pair();
    add("ca=" + authority_->authority() + "&cert=" + own.certificate + "&key=" + own.key);
  }
  return url;
}

std::uint16_t sentinel_group::port(std::size_t index) const {
  return settings_.on_lines ? lines_.at(index)->port() : own_port(*servers_.at(index));
}

std::vector<std::uint16_t> sentinel_group::sentinel_ports() const {
  std::vector<std::uint16_t> ports;
  for (const auto& each : sentinels_) ports.push_back(own_port(*each));
  return ports;
}

}  // namespace holdfast::test
