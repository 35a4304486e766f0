#include "stores/redis/link/questions.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include "base/owner_id.hpp"
#include "runtime/io_deadline.hpp"
#include "runtime/measurement.hpp"
#include "stores/redis/link/conditions.hpp"
#include "stores/redis/link/connection.hpp"
#include "stores/redis/protocol/keys.hpp"
#include "stores/redis/protocol/replies.hpp"
#include "stores/redis/protocol/resp.hpp"
#include "stores/redis/protocol/sentinel_replies.hpp"
#include "stores/redis/protocol/server_answers.hpp"

namespace holdfast::redis {

namespace {

using doctor::facts;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr std::size_t longest_reply = std::size_t{16} * 1024 * 1024;

/// Commands to a server and their replies, as a blocking exchange over a connection of its own.
class conversation {
 public:
  /// Connects, and logs in, within the connect limit. All that follows has that and the answer limit.
  /// \throws connection_error; so do the others.
  conversation(const settings& in, const server_address& to, const credentials& login,
               const tls_context* secure, int stop)
      : limit_{in.connect_limit, stop} {
    made_.parser = redis::parser{longest_reply};
    made_.stream = connect_stream(to, secure, limit_);
    limit_.begin("the server to answer");
    std::string hello;
    const auto now = login.current();
    append_hello(hello, now);
    talk_.send(hello);
    require_no_error(hear(), now);
    limit_ = runtime::io_deadline{in.connect_limit + in.answer_limit, stop};
    limit_.begin("the server to answer");
  }

  [[nodiscard]] value ask(const std::vector<std::string>& arguments) { return ask_all({arguments}).front(); }
  /// In one round trip.
  [[nodiscard]] std::vector<value> ask_all(const std::vector<std::vector<std::string>>& questions) {
    std::string bytes;
    for (const auto& arguments : questions) {
      append_command(bytes, arguments.size());
      for (const std::string& argument : arguments) append_bulk_string(bytes, argument);
    }
    talk_.send(bytes);
    std::vector<value> replies;
    while (replies.size() < questions.size()) replies.push_back(hear());
    return replies;
  }

 private:
  [[nodiscard]] value hear() {
    try {
      return talk_.hear();
    } catch (const parser::garbage& g) {
      throw connection_error{
          {errc::corrupt_store, std::string{"it does not answer as Redis does: "} + g.what()}, false};
    }
  }

  runtime::io_deadline limit_;
  connection made_;
  introduction talk_{made_, limit_};
};

/// A server has no say in facts of other names.
constexpr std::string_view taken =
    " redis_version role master_host aof_enabled maxmemory maxmemory_policy connected_slaves cluster_enabled "
    "uptime_in_seconds run_id master_replid master_replid2 appendonly appendfsync no-appendfsync-on-rewrite "
    "min-replicas-to-write min-replicas-max-lag cluster-node-timeout client-output-buffer-limit "
    "protected-mode port tls-auth-clients cluster_state ";

void set_all(facts& of, const answer_fields& all) {
  for (const auto& [name, text] : all)
    if (taken.find(' ' + name + ' ') != std::string_view::npos) of.set(name, text);
}

/// Empty: it does not tell the time.
std::optional<microseconds> ask_clock(conversation& with) {
  constexpr std::int64_t latest = 1'000'000'000'000;
  bool tells_time = true;
  const microseconds ahead = runtime::clock_ahead([&] {
    const value time = with.ask({"TIME"});
    tells_time = time.is(value::kind::list) && time.items.size() == 2;
    if (!tells_time) return microseconds{};
    return std::chrono::seconds{std::clamp<std::int64_t>(doctor::number_in(time.items[0].text), 0, latest)} +
           microseconds{doctor::number_in(time.items[1].text) % 1'000'000};
  });
  return tells_time ? std::optional{ahead} : std::nullopt;
}

/// The error of a refusal says whether a command, a key or a channel is refused.
void try_rights(conversation& with, const settings& in, server_answers& to) {
  std::vector<right> rights = needed_rights(in.speech, owner_id::random().hex(), in.database != 0);
  std::vector<std::vector<std::string>> probes;
  probes.reserve(rights.size());
  for (const right& each : rights) probes.push_back(each.probe);
  const std::vector<value> replies = with.ask_all(probes);
  std::string lacks;
  bool has_keys = true;
  bool has_channels = true;
  bool is_denied = false;
  for (std::size_t i = 0; i < rights.size(); ++i) {
    if (is_obstacle(replies[i])) to.said.set("obstacle", replies[i].text);
    if (!is_denial(replies[i])) continue;
    is_denied = true;
    const bool is_key = replies[i].text.find("key") != std::string::npos;
    const bool is_channel = replies[i].text.find("channel") != std::string::npos;
    if (!rights[i].consequence.empty()) {
      facts less{to.said.subject};
      less.set("user", in.login.user);
      less.set("grant", rights[i].grant);
      less.set("consequence", rights[i].consequence);
      doctor::examine(conditions::right_conditions, less, to.findings);
      continue;
    }
    has_keys = has_keys && !is_key;
    has_channels = has_channels && !is_channel;
    if (!is_key && !is_channel) lacks.append(" ").append(rights[i].grant);
  }
  if (!has_keys) {
    to.findings.clear();  // no key is left to try them with
    for (const char* before : {"", "{", "{*}"}) lacks.append(" ").append(key_grant(before, in.speech.prefix));
  }
  if (!has_channels) lacks += " &holdfast:client:*";
  if (!lacks.empty()) to.said.set("lacks", lacks.substr(1));
  to.said.set_flag("is_denied", is_denied);
}

/// Whether it does something for whoever gives no password; empty: not known. HELLO alone is answered to
/// everybody.
std::optional<bool> is_open(const settings& in, const server_address& at, const tls_context* secure,
                            int stop) {
  if (!in.login.are_given()) return true;
  try {
    const value reply = conversation{in, at, {}, secure, stop}.ask({"PING"});
    if (is_denial(reply) || reply.text.starts_with("NOAUTH")) return false;
    if (!reply.is(value::kind::error)) return true;
  } catch (const connection_error& c) {
    if (c.reason.code == errc::permission_denied) return false;
  }
  return std::nullopt;
}

/// How long a server still grants nothing new, by its marker or by its start. An estimate: the script that
/// decides (lua/guard.lua) writes, and is not called.
milliseconds pause_left(facts& of, milliseconds guard, std::string_view marker, milliseconds now) {
  // A primary takes another replication id with its first replica; one that was promoted has a former id.
  const bool has_followed = of.text("master_replid2").find_first_not_of('0') != std::string::npos;
  std::istringstream words{std::string{marker}};
  std::string id;
  std::string run;
  std::string longest;
  std::int64_t since = 0;
  if (words >> id >> run >> longest >> since) {
    constexpr std::int64_t longest_guard = milliseconds{25h}.count();
    of.set("longest_guard", longest.substr(0, longest.find('/')));
    const milliseconds length =
        std::max(guard, milliseconds{std::clamp<std::int64_t>(of.number("longest_guard"), 0, longest_guard)});
    if (id == of.text("master_replid") || (run == of.text("run_id") && !has_followed))
      return since <= 0 ? 0ms : std::clamp(milliseconds{since} + length - now, 0ms, length);
  }
  return std::max(guard - milliseconds{of.number("up")}, 0ms);
}

/// The lower of the limits in bytes, hard and soft, for the answers to a client that is subscribed; zero:
/// none. The setting is "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60".
std::int64_t limit_of_subscribers(const std::string& limits) {
  std::istringstream words{limits};
  std::string kind;
  std::int64_t hard = 0;
  std::int64_t soft = 0;
  std::int64_t seconds = 0;
  while (words >> kind >> hard >> soft >> seconds) {
    if (kind == "pubsub")
      return hard > 0 && soft > 0 ? std::min(hard, soft) : std::max({hard, soft, std::int64_t{0}});
  }
  return 0;
}

}  // namespace

void conclude(facts& of, const settings& in, bool has_failover, milliseconds longest_ttl,
              std::string_view guard_marker, milliseconds now) {
  const dialect& speech = in.speech;
  const milliseconds whole_guard = speech.guard + speech.former_primary;
  of.set("user", in.login.user);
  of.set("place", of.subject);
  of.set("guard_option", speech.guard_option);
  of.set("guard", speech.guard.count());
  of.set("whole_guard", whole_guard.count());
  of.set("longest_ttl", longest_ttl.count());
  of.set("guard_key", key_for_shell(guard_key(speech.prefix)));
  of.set_flag("votes", speech.votes);
  of.set_flag("has_failover", has_failover);
  of.set("up", 1000 * std::max<std::int64_t>(of.number("uptime_in_seconds"), 0));
  if (const std::string& version = of.text("redis_version"); !version.empty())
    of.set_flag("is_old", of.number("redis_version") < 7 && !version.starts_with("6.2"));

  const bool has_file = of.text("aof_enabled") == "1";
  of.set("file", !has_file                ? "appendonly is no"
                 : !of.has("appendfsync") ? "appendonly is yes, appendfsync not known"
                                          : doctor::fill("appendonly is yes, appendfsync is {appendfsync}, "
                                                         "no-appendfsync-on-rewrite is "
                                                         "{no-appendfsync-on-rewrite}",
                                                         of));
  if (const std::int64_t limit = limit_of_subscribers(of.text("client-output-buffer-limit")); limit != 0)
    of.set("answers_limit", limit);

  const bool is_cluster = of.number("cluster_enabled") == 1;
  const std::string setting = is_cluster ? "cluster-node-timeout" : "min-replicas-max-lag";
  const std::int64_t end = std::max<std::int64_t>(of.number(setting), 0) * (is_cluster ? 1 : 1000);
  of.set("former_setting", setting);
  of.set("former_end", end);
  of.set_flag("former_stops", is_cluster || (end > 0 && of.number("min-replicas-to-write") > 0));
  of.set("needed_guard", (longest_ttl + 2s).count() + end);

  const milliseconds left = pause_left(of, whole_guard, guard_marker, now);
  const bool has_guard = !in.is_cluster() && !in.is_quorum() && speech.guard.count() != 0;
  if (has_guard && of.has("redis_version"))
    of.set("pause_s", std::chrono::ceil<std::chrono::seconds>(left).count());
}

server_answers ask_server(const settings& in, const server_address& at, bool has_failover,
                          milliseconds longest_ttl, const tls_context* secure, int stop) {
  server_answers all;
  all.at = at;
  facts& said = all.said;
  said.subject = at.place();
  conversation with{in, at, in.login, secure, stop};
  if (in.database != 0) static_cast<void>(with.ask({"SELECT", std::to_string(in.database)}));
  std::vector<std::vector<std::string>> questions{{"INFO"}, {"GET", guard_key(in.speech.prefix)}};
  for (const char* pattern : {"*append*", "min-replicas-*", "cluster-node-timeout",
                              "client-output-buffer-limit", "protected-mode", "port", "tls-auth-clients"})
    questions.push_back({"CONFIG", "GET", pattern});
  if (in.is_quorum()) questions.push_back({"GET", quorum_key(in.speech.prefix)});
  if (in.is_cluster()) questions.push_back({"CLUSTER", "INFO"});
  const std::vector<value> replies = with.ask_all(questions);

  const auto set_fields = [&](const answer_fields& fields, const char* error, const value& reply) {
    set_all(said, fields);
    if (fields.empty()) said.set(error, reply.is(value::kind::error) ? reply.text : "nothing");
  };
  set_fields(fields_in_info(replies[0]), "info_error", replies[0]);
  answer_fields settings_there;
  for (std::size_t i = 2; i < replies.size(); ++i) settings_there.merge(settings_in(replies[i]));
  set_all(said, settings_there);
  said.set_flag("settings", !settings_there.empty());
  // Before version 7 it does not concern a server with a setting `bind`.
  const bool is_before_7 = said.has("redis_version") && said.number("redis_version") < 7;
  said.set_flag("is_protected", said.text("protected-mode") == "yes" && !is_before_7);
  said.set_flag("keeps_writes", keep_each_write(settings_there));
  if (in.is_quorum()) all.set = replies.back();
  if (in.is_cluster()) set_fields(fields_in_info(replies.back()), "cluster_error", replies.back());
  if (const auto ahead = ask_clock(with)) {
    all.clock_ahead = *ahead;
    doctor::set_clock(said, *ahead);
  }
  try_rights(with, in, all);
  said.set_flag("gives_password", in.login.password.is_given() && in.login.user == "default");
  const auto now = std::chrono::system_clock::now().time_since_epoch() + all.clock_ahead;
  conclude(said, in, has_failover, longest_ttl, replies[1].is(value::kind::text) ? replies[1].text : "",
           std::chrono::floor<milliseconds>(now));
  if (const auto open = is_open(in, at, secure, stop)) said.set_flag("is_open", *open);
  std::vector<finding> findings;
  doctor::examine(conditions::server_conditions, said, findings);
  doctor::examine(doctor::clock_conditions(), said, findings);
  all.findings.insert(all.findings.begin(), findings.begin(), findings.end());
  return all;
}

sentinel_answers ask_sentinel(const settings& in, const server_address& at, const tls_context* secure,
                              int stop) {
  sentinel_answers said;
  said.place = at.place();
  try {
    conversation with{in, at, in.sentinel.login, secure, stop};
    said.primary = primary_address_in(with.ask({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", in.sentinel.primary}));
    said.check = with.ask({"SENTINEL", "CKQUORUM", in.sentinel.primary});
  } catch (const connection_error& c) {
    said.problem = c.reason;
  } catch (const misunderstood&) {
    said.problem = {errc::corrupt_store, "its answer is not the address of a server"};
  }
  return said;
}

slot_map ask_slots(const settings& in, const server_address& node, const tls_context* secure, int stop) {
  try {
    slot_map map =
        slot_map::read(conversation{in, node, in.login, secure, stop}.ask({"CLUSTER", "SLOTS"}), node);
    if (!map.is_empty()) return map;
  } catch (const misunderstood&) {
    throw connection_error{{errc::foreign_store, node.place() + " is no node of a cluster"}};
  }
  throw connection_error{{errc::unavailable, node.place() + " knows of no slot"}};
}

}  // namespace holdfast::redis
