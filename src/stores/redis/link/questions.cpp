#include "stores/redis/link/questions.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <sstream>
#include <utility>

#include "base/owner_id.hpp"
#include "runtime/measurement.hpp"
#include "stores/redis/link/conversation.hpp"
#include "stores/redis/protocol/keys.hpp"
#include "stores/redis/protocol/sentinel_replies.hpp"
#include "stores/redis/protocol/server_answers.hpp"

namespace holdfast::redis {

namespace {

using doctor::facts;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr std::size_t most_fences = 1000;  // of which each is asked for its time to live

bool is_local(const server_address& at) {
  const bool is_number = at.host.find_first_not_of("0123456789.") == std::string::npos;
  return !at.path.empty() || at.host == "localhost" || at.host == "::1" ||
         (is_number && at.host.starts_with("127."));
}

/// Whether hosts but this one reach the server, by its settings. An address with a minus may be missing.
bool is_reached_from_elsewhere(const facts& of) {
  if (of.text("protected-mode") == "yes" || of.text("port") == "0") return false;
  std::istringstream addresses{of.text("bind")};
  bool is_anywhere = true;
  for (std::string each; addresses >> each; is_anywhere = false) {
    if (each.starts_with('-')) each.erase(0, 1);
    if (!each.starts_with("127.") && each != "::1") return true;
  }
  return is_anywhere;
}

/// A server has no say in facts of other names.
constexpr std::array<std::string_view, 25> taken{"redis_version",
                                                 "role",
                                                 "master_host",
                                                 "aof_enabled",
                                                 "maxmemory",
                                                 "maxmemory_policy",
                                                 "connected_slaves",
                                                 "cluster_enabled",
                                                 "uptime_in_seconds",
                                                 "run_id",
                                                 "master_replid",
                                                 "master_replid2",
                                                 "appendonly",
                                                 "appendfsync",
                                                 "no-appendfsync-on-rewrite",
                                                 "min-replicas-to-write",
                                                 "min-replicas-max-lag",
                                                 "cluster-node-timeout",
                                                 "bind",
                                                 "protected-mode",
                                                 "port",
                                                 "tls-auth-clients",
                                                 "cluster_state",
                                                 "cluster_slots_fail",
                                                 "cluster_slots_pfail"};

void set_all(facts& of, const answer_fields& all) {
  for (const std::string_view name : taken)
    if (const auto found = all.find(name); found != all.end()) of.set(name, found->second);
}

/// Empty: it does not tell the time.
std::optional<microseconds> ask_clock(conversation& with) {
  bool tells_time = true;
  const microseconds ahead = runtime::clock_ahead([&] {
    const value time = with.ask({"TIME"});
    tells_time = time.is(value::kind::list) && time.items.size() == 2;
    if (!tells_time) return microseconds{};
    facts of;
    of.set("s", time.items[0].text);
    of.set("us", time.items[1].text);
    constexpr std::int64_t latest = 1'000'000'000'000;  // seconds
    return microseconds{std::clamp<std::int64_t>(of.number("s"), 0, latest) * 1'000'000 +
                        std::clamp<std::int64_t>(of.number("us"), 0, 999'999)};
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
      facts& less = to.lacking.emplace_back(to.said.subject);
      less.set("user", in.login.user);
      less.set("grant", rights[i].grant);
      less.set("consequence", rights[i].consequence);
      continue;
    }
    has_keys = has_keys && !is_key;
    has_channels = has_channels && !is_channel;
    if (!is_key && !is_channel) lacks.append(" ").append(rights[i].grant);
  }
  if (!has_keys) {
    to.lacking.clear();  // no key is left to try them with
    for (const char* before : {"", "{", "{*}"}) lacks.append(" ").append(key_grant(before, in.speech.prefix));
  }
  if (!has_channels) lacks += " &holdfast:client:*";
  if (!lacks.empty()) to.said.set("lacks", lacks.substr(1));
  to.said.set_flag("is_denied", is_denied);
}

/// A script that changes nothing. KEYS: a lock's key and its fence.
constexpr const char* fence_question =
    "local held = redis.call('GET', KEYS[1]) or '' "
    "local is_claim = held:find('^' .. ('%d'):rep(20) .. ' ') or held:find('^holdfast:shared ') "
    "return {redis.call('PTTL', KEYS[2]), is_claim and 1 or 0}";

/// As many as a few round trips find.
std::vector<found_fence> ask_fences(conversation& with, const dialect& in, bool& is_whole) {
  constexpr int most_steps = 20;  // of about 1000 keys each
  const auto refuse = [](const value& reply) {
    throw connection_error{
        {errc::corrupt_store, reply.is(value::kind::error) ? reply.text : "SCAN has no answer"}};
  };
  std::set<std::string> keys;
  std::string cursor{"0"};
  for (int step = 0; step < most_steps && !is_whole && keys.size() < most_fences; ++step) {
    const std::string pattern = "*" + literally(in.prefix) + "*\x1f" + "fence";
    const value reply = with.ask({"SCAN", cursor, "MATCH", pattern, "COUNT", "1000"});
    if (!reply.is(value::kind::list) || reply.items.size() != 2) refuse(reply);
    for (const value& key : reply.items[1].items) {
      const auto lock = lock_of_fence(key.text);
      if (lock && lock->starts_with(in.prefix)) keys.insert(key.text);
    }
    cursor = reply.items[0].text;
    is_whole = cursor == "0";
  }
  is_whole = is_whole && keys.size() <= most_fences;
  std::vector<found_fence> all;
  std::vector<std::vector<std::string>> questions;
  for (const std::string& key : keys) {
    if (all.size() == most_fences) break;
    const std::string lock = lock_of_fence(key).value_or("");
    questions.push_back({"EVAL", fence_question, "2", lock, key});
    all.push_back({lock.substr(std::min(in.prefix.size(), lock.size()))});
  }
  const std::vector<value> replies = with.ask_all(questions);
  for (std::size_t i = 0; i < replies.size(); ++i) {
    const auto& parts = replies[i].items;
    if (is_denial(replies[i])) refuse(replies[i]);
    const bool is_answer = replies[i].is(value::kind::list) && parts.size() == 2;
    all[i].left_ms = is_answer ? parts[0].number : -2;
    all[i].is_held = is_answer && parts[1].number == 1;
  }
  return all;
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
  } catch (const parser::garbage&) {
    return std::nullopt;
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
  of.set_flag("is_reached", is_reached_from_elsewhere(of));
  of.set("up", 1000 * std::clamp<std::int64_t>(of.number("uptime_in_seconds"), 0, 1'000'000'000'000));
  if (const std::string& version = of.text("redis_version"); !version.empty())
    of.set_flag("is_old", of.number("redis_version") < 7 && !version.starts_with("6.2"));

  const std::string& sync = of.text("appendfsync");
  const bool keeps =
      of.text("appendonly") == "yes" && sync == "always" && of.text("no-appendfsync-on-rewrite") == "no";
  of.set_flag("keeps_writes", keeps);
  std::string file = "appendonly is no";
  if (of.text("aof_enabled") == "1") {
    file = "appendonly is yes, appendfsync " + (sync.empty() ? "not known" : "is " + sync);
    if (sync == "always" && !keeps)
      file +=
          ", no-appendfsync-on-rewrite is yes: while the file is written anew, writes go without the disk";
  }
  of.set("file", file);

  if (const std::int64_t limit = limit_of_subscribers(of.text("client-output-buffer-limit")); limit != 0)
    of.set("answers_limit", limit);

  const bool is_cluster = of.number("cluster_enabled") == 1;
  const std::string setting = is_cluster ? "cluster-node-timeout" : "min-replicas-max-lag";
  constexpr std::int64_t most = 1'000'000'000'000;
  const std::int64_t end = std::clamp<std::int64_t>(of.number(setting), 0, most) * (is_cluster ? 1 : 1000);
  of.set("former_setting", setting);
  of.set("former_end", end);
  of.set_flag("former_stops", is_cluster || (end > 0 && of.number("min-replicas-to-write") > 0));
  of.set("needed_guard", (longest_ttl + 2s).count() + end);

  const milliseconds left = pause_left(of, whole_guard, guard_marker, now);
  const bool has_guard = !in.is_cluster() && !in.is_quorum() && speech.guard.count() != 0;
  if (has_guard && of.has("redis_version"))
    of.set("pause_s", std::chrono::ceil<std::chrono::seconds>(left).count());
}

/// A holder gives its fence `keep_idle` or two ttls, whichever is more, with each renewal, and renews in
/// time. So at least a half is left while it holds. How long an idle name's fence has lived is not known.
void conclude(facts& of, const std::vector<found_fence>& all, bool is_whole, const dialect& in) {
  const auto seconds = [](milliseconds length) {
    return std::chrono::ceil<std::chrono::seconds>(length).count();
  };
  std::int64_t count = 0;
  std::int64_t endless = 0;
  for (const found_fence& each : all) {
    if (each.left_ms < -1) continue;
    ++count;
    if (each.left_ms == -1) {
      ++endless;
      of.set("endless_name", each.name);
      of.set_flag("is_option", each.name.starts_with('-'));
    } else if (each.is_held && each.left_ms < in.keep.count() / 2) {
      of.set("short_name", each.name);
      of.set("short_left", seconds(milliseconds{each.left_ms}));
    }
  }
  of.set("count", count);
  of.set("endless", endless);
  of.set("keep", seconds(in.keep));
  of.set("range", is_whole ? "" : " among the first keys");
}

server_answers ask_server(const settings& in, const server_address& at, bool has_failover,
                          milliseconds longest_ttl, const tls_context* secure, int stop) {
  server_answers all;
  all.at = at;
  all.said.subject = all.fences.subject = at.place();
  conversation with{in, at, in.login, secure, stop};
  if (in.database != 0) static_cast<void>(with.ask({"SELECT", std::to_string(in.database)}));
  const std::vector<std::string> last = in.is_quorum()
                                            ? std::vector<std::string>{"GET", quorum_key(in.speech.prefix)}
                                            : std::vector<std::string>{"CLUSTER", "INFO"};
  std::vector<std::vector<std::string>> questions{{"INFO"}, {"GET", guard_key(in.speech.prefix)}};
  for (const char* pattern :
       {"*append*", "min-replicas-*", "cluster-node-timeout", "client-output-buffer-limit", "bind",
        "protected-mode", "port", "tls-auth-clients"})
    questions.push_back({"CONFIG", "GET", pattern});
  if (in.is_cluster() || in.is_quorum()) questions.push_back(last);
  const std::vector<value> replies = with.ask_all(questions);

  facts& said = all.said;
  const auto error_of = [](const value& reply) {
    return reply.is(value::kind::error) ? reply.text : "nothing";
  };
  const answer_fields info = fields_in_info(replies[0]);
  set_all(said, info);
  if (info.empty()) said.set("info_error", error_of(replies[0]));
  answer_fields settings_there;
  for (std::size_t i = 2; i < replies.size(); ++i) settings_there.merge(settings_in(replies[i]));
  set_all(said, settings_there);
  said.set_flag("settings", !settings_there.empty());
  if (in.is_quorum()) all.set = replies.back();
  if (in.is_cluster()) {
    const answer_fields state = fields_in_info(replies.back());
    set_all(said, state);
    if (!state.contains("cluster_state")) said.set("cluster_error", error_of(replies.back()));
    said.set("slots_away", said.number("cluster_slots_fail") + said.number("cluster_slots_pfail"));
  }
  if (const auto ahead = ask_clock(with)) {
    all.clock_ahead = *ahead;
    doctor::set_clock(said, *ahead);
  }
  try_rights(with, in, all);
  said.set_flag("gives_password", in.login.password.is_given() && in.login.user == "default");
  said.set_flag("is_local", is_local(at));
  const auto now = std::chrono::system_clock::now().time_since_epoch() + all.clock_ahead;
  conclude(said, in, has_failover, longest_ttl, replies[1].is(value::kind::text) ? replies[1].text : "",
           std::chrono::floor<milliseconds>(now));
  all.fences.set("user", in.login.user);
  try {  // what is silent meanwhile leaves all other answers as they are
    bool is_whole = false;
    const auto fences = ask_fences(with, in.speech, is_whole);
    conclude(all.fences, fences, is_whole, in.speech);
  } catch (const connection_error& c) {
    all.fences.set("refusal", c.reason.message);
  }
  if (const auto open = is_open(in, at, secure, stop)) said.set_flag("is_open", *open);
  return all;
}

sentinel_answers ask_sentinel(const settings& in, const server_address& at, const tls_context* secure,
                              int stop) {
  const std::string& name = in.sentinel.primary;
  conversation with{in, at, in.sentinel.login, secure, stop};
  sentinel_answers said;
  said.place = at.place();
  std::string question;
  append_address_question(question, name);
  said.primary = primary_address_in(with.ask_as_written(question));
  const std::vector<value> replies =
      with.ask_all({{"SENTINEL", "CKQUORUM", name}, {"SENTINEL", "MASTER", name}});
  said.check = replies[0];
  const answer_fields master = settings_in(replies[1]);  // a map, which older versions send as a list
  if (const auto found = master.find("quorum"); found != master.end()) said.quorum = found->second;
  return said;
}

}  // namespace holdfast::redis
