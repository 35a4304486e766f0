// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/link/diagnosis.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <sstream>
#include <thread>
#include <utility>

#include "base/owner_id.hpp"
#include "base/shell_word.hpp"
#include "runtime/io_deadline.hpp"
#include "runtime/measurement.hpp"
#include "runtime/signals.hpp"
#include "runtime/wakeup_fd.hpp"
#include "stores/quorum/protocol/problem_list.hpp"
#include "stores/redis/link/conditions.hpp"
#include "stores/redis/link/conversation.hpp"
#include "stores/redis/protocol/cluster.hpp"
#include "stores/redis/protocol/keys.hpp"
#include "stores/redis/protocol/replies.hpp"
#include "stores/redis/protocol/resp.hpp"
#include "stores/redis/protocol/sentinel_replies.hpp"
#include "stores/redis/protocol/server_answers.hpp"

namespace holdfast::redis {

namespace {

using doctor::examine;
using doctor::facts;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr std::size_t most_threads = 32;  // beside this one

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
  // Each of these shows the claims that wait, or those that begin to hold.
  constexpr std::array<std::string_view, 5> reading{"+get", "+mget", "+zrangebyscore", "+zrevrange",
                                                    "+zrevrangebyscore"};
  bool reads = false;
  bool writes = false;
  bool publishes = false;
  for (std::size_t i = 0; i < rights.size(); ++i) {
    if (is_obstacle(replies[i])) to.said.set("obstacle", replies[i].text);
    if (!is_denial(replies[i])) {
      publishes = publishes || rights[i].grant == "+publish";
      writes = writes || rights[i].grant == "+set";
      reads = reads || std::find(reading.begin(), reading.end(), rights[i].grant) != reading.end();
      continue;
    }
    is_denied = true;
    const bool is_key = replies[i].text.find("key") != std::string::npos;
    const bool is_channel = replies[i].text.find("channel") != std::string::npos;
    if (!rights[i].consequence.empty()) {
      facts less{to.said.subject};
      less.set("user", in.login.user);
      less.set("grant", rights[i].grant);
      less.set("consequence", rights[i].consequence);
      examine(conditions::right_conditions, less, to.findings);
      continue;
    }
    has_keys = has_keys && !is_key;
    has_channels = has_channels && !is_channel;
    if (!is_key && !is_channel) lacks.append(" ").append(rights[i].grant);
  }
  to.said.set_flag("may_forge", reads && publishes && !writes);
  if (!has_keys) {
    to.findings.clear();  // no key is left to try them with
    for (const char* before : {"", "{", "{*}"}) lacks.append(" ").append(key_grant(before, in.speech.prefix));
  }
  if (!has_channels) lacks += " &holdfast:client:*";
  if (!lacks.empty()) to.said.set("lacks", lacks.substr(1));
  to.said.set_flag("is_denied", is_denied);
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

/// The command for a shell that deletes the key of a server's set. Whoever runs it logs in as the server
/// wants.
std::string deletion_of_set(const settings& in, const server_address& at) {
  std::string command = "redis-cli -h " + word_for_shell(at.host) + " -p " + word_for_shell(at.port);
  if (in.database != 0) command += " -n " + std::to_string(in.database);
  return command + " DEL " + key_for_shell(quorum_key(in.speech.prefix));
}

}  // namespace

// ---- what is concluded

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

std::optional<server_address> named_by_most(const std::vector<sentinel_answers>& all) {
  std::vector<server_address> named;
  for (const sentinel_answers& each : all)
    if (each.primary) named.push_back(*each.primary);
  if (named.empty()) return std::nullopt;
  const auto votes = [&](const server_address& primary) { return std::ranges::count(named, primary); };
  return *std::ranges::max_element(named, {}, votes);
}

facts conclude(const std::vector<sentinel_answers>& all, const settings& in) {
  facts of{"the primary '" + in.sentinel.primary + "'"};
  of.set("primary", in.sentinel.primary);
  of.set("count", static_cast<std::int64_t>(all.size()));
  of.set("majority", static_cast<std::int64_t>(all.size() / 2 + 1));
  const auto primary = named_by_most(all);
  if (!primary) return of;
  of.set("address", primary->place());
  of.set("host", primary->host);
  of.set("port", primary->port);
  std::string others;
  std::string wrong;
  std::int64_t knowing = 0;
  std::map<std::string_view, std::int64_t> verdicts;
  for (const sentinel_answers& each : all) {
    if (!each.primary) continue;
    ++knowing;
    ++verdicts[each.verdict()];
    if (*each.primary == *primary) continue;
    others.append(", and ").append(each.place).append(" that it is at ").append(each.primary->place());
    wrong.append(wrong.empty() ? "" : ", ").append(each.place);
  }
  of.set("others", others);
  of.set("wrong", wrong);
  of.set("knowing", knowing);
  of.set("able", verdicts["able"]);
  of.set("unable", verdicts["unable"]);
  return of;
}

std::vector<finding> findings_of_set(const settings& in, const std::vector<server_answers>& answers) {
  std::vector<finding> found;
  std::vector<std::string> places;
  for (const server_address& each : in.quorum) places.push_back(each.place());
  quorum::server_set set{places};  // which the clients use, too
  const auto index_of = [&](const server_answers& one) {
    return static_cast<std::size_t>(std::ranges::find(in.quorum, one.at) - in.quorum.begin());
  };
  for (const server_answers& each : answers)
    set.on_hello(index_of(each), description_of(each.set.value_or(value{}), each.said.text("run_id")));
  std::int64_t others = 0;
  for (const server_answers& each : answers) {
    facts of = each.said;
    if (const auto other = set.other_at(index_of(each))) {
      of.set("other_set", *other);
      of.set("own_set", set.text());
    }
    if (each.set && !each.set->is(value::kind::text) && !each.set->is(value::kind::null)) {
      of.set("set_error", each.set->is(value::kind::error) ? each.set->text : "what is no text");
      of.set("set_type", of.text("set_error").starts_with("WRONGTYPE") ? "wrong" : "unknown");
    }
    of.set("deletion", deletion_of_set(in, each.at));
    of.set("key_grant", key_grant("{", in.speech.prefix));
    if (const auto twin = set.same_process_as(index_of(each))) of.set("twin", places[*twin]);
    others += of.has("other_set") || of.has("set_error") ? 1 : 0;
    examine(conditions::voter_conditions, of, found);
  }
  const auto [least, most] = std::ranges::minmax_element(answers, {}, &server_answers::clock_ahead);
  facts of{"the set"};
  of.set("count", static_cast<std::int64_t>(places.size()));
  of.set("majority", static_cast<std::int64_t>(places.size() / 2 + 1));
  of.set("answers", static_cast<std::int64_t>(answers.size()));
  of.set("others", others);
  of.set("guard", in.speech.guard.count());
  of.set("furthest", dialect::furthest_number.count());
  of.set("apart", std::chrono::duration_cast<milliseconds>(most->clock_ahead - least->clock_ahead).count());
  of.set("first", most->at.place());
  of.set("last", least->at.place());
  examine(conditions::set_conditions, of, found);
  return found;
}

// ---- what is asked

namespace {

/// The servers of a URL.
class survey {
 public:
  survey(const settings& in, milliseconds longest_ttl) : in_{in}, longest_ttl_{longest_ttl} {
    if (in.tls.on) secure_ = std::make_unique<tls_context>(in);
  }

  doctor::report run() && {
    if (in_.has_sentinels()) {
      examine_sentinels();
    } else if (in_.is_cluster()) {
      examine_cluster();
    } else if (in_.is_quorum()) {
      examine_quorum();
    } else {
      add(ask(in_.server));
    }
    // A number that is proposed to several may be ahead of their clocks.
    if (in_.is_quorum()) tokens_.most_ahead += dialect::furthest_number;
    return {std::move(found_), tokens_};
  }

 private:
  /// Of one of several servers that are asked at the same time.
  struct answer {
    std::optional<server_answers> said;
    failure problem;  // if there are none
  };

  void add(const std::vector<finding>& more) { found_.insert(found_.end(), more.begin(), more.end()); }
  void add(const server_answers& of) {
    add(of.findings);
    tokens_.add_clock(of.said);
  }
  /// \throws connection_error, as the functions below.
  [[nodiscard]] conversation talk_to(const server_address& at, const credentials& login) const {
    return {in_, at, login, secure_.get(), never_.descriptor()};
  }
  /// Asks a server about itself. Changes nothing there. Blocks.
  [[nodiscard]] server_answers ask(const server_address& at) const;
  [[nodiscard]] std::optional<bool> is_open(const server_address& at) const;
  [[nodiscard]] sentinel_answers ask_sentinel(const server_address& at) const;
  [[nodiscard]] std::vector<answer> ask_at_once(const std::vector<server_address>& servers) const;
  /// \param meaning of its silence.
  void examine_answer(const server_address& at, const answer& from, const std::string& meaning);
  void examine_sentinels();
  void examine_cluster();
  void examine_quorum();

  const settings& in_;
  milliseconds longest_ttl_;
  std::unique_ptr<tls_context> secure_;
  runtime::wakeup_fd never_;
  bool has_failover_ = false;  // others may promote a replica
  std::vector<finding> found_;
  doctor::token_source tokens_;
};

/// Whether it does something for whoever gives no password; empty: not known. HELLO alone is answered to
/// everybody.
std::optional<bool> survey::is_open(const server_address& at) const {
  if (!in_.login.are_given()) return true;
  try {
    const value reply = talk_to(at, {}).ask({"PING"});
    if (is_denial(reply) || reply.text.starts_with("NOAUTH")) return false;
    if (!reply.is(value::kind::error)) return true;
  } catch (const connection_error& c) {
    if (c.reason.code == errc::permission_denied) return false;
  }
  return std::nullopt;
}

server_answers survey::ask(const server_address& at) const {
  server_answers all;
  all.at = at;
  facts& said = all.said;
  said.subject = at.place();
  conversation with = talk_to(at, in_.login);
  if (in_.database != 0) static_cast<void>(with.ask({"SELECT", std::to_string(in_.database)}));
  std::vector<std::vector<std::string>> questions{{"INFO"}, {"GET", guard_key(in_.speech.prefix)}};
  for (const char* pattern : {"*append*", "min-replicas-*", "cluster-node-timeout",
                              "client-output-buffer-limit", "protected-mode", "port", "tls-auth-clients"})
    questions.push_back({"CONFIG", "GET", pattern});
  if (in_.is_quorum()) questions.push_back({"GET", quorum_key(in_.speech.prefix)});
  if (in_.is_cluster()) questions.push_back({"CLUSTER", "INFO"});
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
  if (in_.is_quorum()) all.set = replies.back();
  if (in_.is_cluster()) set_fields(fields_in_info(replies.back()), "cluster_error", replies.back());
  if (const auto ahead = ask_clock(with)) {
    all.clock_ahead = *ahead;
    doctor::set_clock(said, *ahead);
  }
  try_rights(with, in_, all);
  said.set_flag("gives_password", in_.login.password.is_given() && in_.login.user == "default");
  const auto now = std::chrono::system_clock::now().time_since_epoch() + all.clock_ahead;
  conclude(said, in_, has_failover_, longest_ttl_, replies[1].is(value::kind::text) ? replies[1].text : "",
           std::chrono::floor<milliseconds>(now));
  if (const auto open = is_open(at)) said.set_flag("is_open", *open);
  std::vector<finding> findings;
  examine(conditions::server_conditions, said, findings);
  examine(doctor::clock_conditions(), said, findings);
  all.findings.insert(all.findings.begin(), findings.begin(), findings.end());
  return all;
}

sentinel_answers survey::ask_sentinel(const server_address& at) const {
  sentinel_answers said;
  said.place = at.place();
  try {
    conversation with = talk_to(at, in_.sentinel.login);
    said.primary =
        primary_address_in(with.ask({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", in_.sentinel.primary}));
    said.check = with.ask({"SENTINEL", "CKQUORUM", in_.sentinel.primary});
  } catch (const connection_error& c) {
    said.problem = c.reason;
  } catch (const misunderstood&) {
    said.problem = {errc::corrupt_store, "its answer is not the address of a server"};
  }
  return said;
}

/// Several of them may be silent, each for the whole time limit. As many answers as there are servers.
std::vector<survey::answer> survey::ask_at_once(const std::vector<server_address>& servers) const {
  std::vector<answer> all(servers.size());
  std::atomic<std::size_t> next = 0;
  const auto ask_next = [&] {
    for (std::size_t i = next++; i < servers.size(); i = next++) {
      try {
        all[i].said = ask(servers[i]);
      } catch (const connection_error& c) {
        all[i].problem = c.reason;
      } catch (const error& e) {
        all[i].problem = {e.code(), e.detail()};
      }
    }
  };
  std::vector<std::thread> threads;
  try {
    while (threads.size() + 1 < std::min(servers.size(), most_threads))
      threads.push_back(runtime::quiet_thread(ask_next));
  } catch (const error&) {  // this thread asks the rest
  }
  ask_next();
  for (std::thread& each : threads) each.join();
  return all;
}

void survey::examine_answer(const server_address& at, const answer& from, const std::string& meaning) {
  if (from.said) return add(*from.said);
  facts of{at.place()};
  of.set("problem", from.problem.message);
  of.set("meaning", meaning);
  of.set("remedy",
         from.problem.code == errc::permission_denied
             ? "give the user and the password of the store's URL to this server, or correct the URL's"
             : "start the server, or look at its network and its log");
  of.set_flag("votes", in_.is_quorum());
  examine(conditions::answer_conditions, of, found_);
}

// ---- Sentinels

void survey::examine_sentinels() {
  has_failover_ = true;
  std::vector<sentinel_answers> all;
  for (const server_address& each : in_.sentinel.addresses) all.push_back(ask_sentinel(each));
  const auto is_silent = [](const sentinel_answers& each) { return !each.problem.message.empty(); };
  if (std::ranges::all_of(all, is_silent)) throw connection_error{all.back().problem};
  for (const sentinel_answers& each : all) {
    facts of{each.place};
    of.set("primary", in_.sentinel.primary);
    of.set("problem", each.problem.message);
    if (each.primary) of.set("address", each.primary->place());
    of.set("user", in_.sentinel.login.user);
    of.set("check", each.check.text);
    of.set("verdict", each.verdict());
    examine(conditions::sentinel_conditions, of, found_);
  }
  examine(conditions::primary_conditions, conclude(all, in_), found_);
  if (const auto primary = named_by_most(all)) {
    examine_answer(*primary, ask_at_once({*primary}).front(),
                   "no lock can be acquired or renewed until it is followed");
  }
}

// ---- a cluster

void survey::examine_cluster() {
  const slot_map map = slots_of(in_, secure_.get(), never_.descriptor());
  has_failover_ = !map.replicas().empty();
  std::int64_t without = 0;
  for (std::uint16_t slot = 0; slot < slot_count; ++slot) without += map.primary_of(slot) == nullptr ? 1 : 0;
  facts of{"cluster"};
  of.set("without", without);
  examine(conditions::slot_conditions, of, found_);
  const auto primaries = map.primaries();
  const std::vector<answer> all = ask_at_once(primaries);
  for (std::size_t i = 0; i < all.size(); ++i)
    examine_answer(primaries[i], all[i], "names in its slots cannot be locked until it is followed");
}

// ---- a set of which a majority decides

void survey::examine_quorum() {
  std::vector<failure> problems;
  quorum::problem_list reasons;
  std::vector<server_answers> answers;
  const std::vector<answer> all = ask_at_once(in_.quorum);
  for (std::size_t i = 0; i < all.size(); ++i) {
    examine_answer(in_.quorum[i], all[i], {});
    if (all[i].said) {
      answers.push_back(*all[i].said);
      continue;
    }
    const std::string place = in_.quorum[i].place();
    reasons.add(place, quorum::with_place(place, all[i].problem.message));
    problems.push_back(all[i].problem);
  }
  if (answers.empty()) {
    const bool is_common = std::ranges::all_of(
        problems, [&](const failure& each) { return each.code == problems.front().code; });
    const std::string text = reasons.text().substr(std::string_view{"; "}.size());
    throw connection_error{{is_common ? problems.front().code : errc::unavailable, text}};
  }
  add(findings_of_set(in_, answers));
}

}  // namespace

doctor::report diagnose(const settings& of, std::chrono::nanoseconds longest_ttl) {
  return survey{of, std::chrono::ceil<milliseconds>(longest_ttl)}.run();
}

}  // namespace holdfast::redis
