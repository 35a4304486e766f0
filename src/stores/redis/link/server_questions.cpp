#include "stores/redis/link/server_questions.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/owner_id.hpp"
#include "runtime/measurement.hpp"
#include "stores/redis/link/conversation.hpp"
#include "stores/redis/protocol/keys.hpp"
#include "stores/redis/protocol/sentinel_replies.hpp"

namespace holdfast::redis {

namespace {

using std::chrono::microseconds;

constexpr std::size_t most_side_keys = 1000;  // of which each is asked for its time to live

std::int64_t number_in(std::string_view text, std::int64_t most) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return std::clamp<std::int64_t>(number, 0, most);
}

bool is_local(const server_address& at) {
  const bool is_number = at.host.find_first_not_of("0123456789.") == std::string::npos;
  return !at.path.empty() || at.host == "localhost" || at.host == "::1" ||
         (is_number && at.host.starts_with("127."));
}

/// By how much a server's clock is ahead of this host's; empty: it does not tell the time.
std::optional<microseconds> clock_ahead(conversation& with) {
  constexpr std::int64_t latest = 1'000'000'000'000;  // seconds
  bool tells_time = true;
  const microseconds ahead = runtime::clock_ahead([&] {
    const value time = with.ask({"TIME"});
    tells_time = time.is(value::kind::list) && time.items.size() == 2;
    if (!tells_time) return microseconds{};
    return microseconds{number_in(time.items[0].text, latest) * 1'000'000 +
                        number_in(time.items[1].text, 999'999)};
  });
  return tells_time ? std::optional{ahead} : std::nullopt;
}

/// Empty: it runs no script for this user, or none now.
std::optional<microseconds> script_time(conversation& with) {
  bool runs = true;
  const microseconds length = runtime::round_trip(
      [&] { runs = runs && !with.ask({"EVAL", "return redis.call('TIME')", "0"}).is(value::kind::error); });
  return runs ? std::optional{length} : std::nullopt;
}

void try_rights(conversation& with, const settings& in, server_facts& facts) {
  std::vector<right> rights = needed_rights(in.speech, owner_id::random().hex(), in.database != 0);
  std::vector<std::vector<std::string>> probes;
  probes.reserve(rights.size());
  for (const right& each : rights) probes.push_back(each.probe);
  const std::vector<value> replies = with.ask_all(probes);
  for (std::size_t i = 0; i < rights.size(); ++i) {
    if (is_denial(replies[i])) facts.denials.push_back({std::move(rights[i]), replies[i].text});
    if (is_obstacle(replies[i]) && facts.obstacle.empty()) facts.obstacle = replies[i].text;
  }
}

/// The side keys among the first keys: as many as a few round trips find.
key_sample find_side_keys(conversation& with, const dialect& in) {
  constexpr int most_steps = 20;  // of about 1000 keys each
  key_sample sample;
  std::set<std::string> found;
  std::string cursor{"0"};
  for (int step = 0; step < most_steps && !sample.is_whole && found.size() < most_side_keys; ++step) {
    const value reply = with.ask({"SCAN", cursor, "MATCH", side_key_pattern(in.prefix), "COUNT", "1000"});
    if (!reply.is(value::kind::list) || reply.items.size() != 2) {
      sample.refusal = reply.is(value::kind::error) ? reply.text : "SCAN has no answer that is one";
      return sample;
    }
    for (const value& key : reply.items[1].items)
      if (kind_of(key.text, in.prefix) != key_sample::kind::none) found.insert(key.text);
    cursor = reply.items[0].text;
    sample.is_whole = cursor == "0";
  }
  for (const std::string& each : found) {
    if (sample.entries.size() < most_side_keys)
      sample.entries.push_back({each, kind_of(each, in.prefix)});
    else
      sample.is_whole = false;
  }
  return sample;
}

/// What is silent meanwhile leaves all other answers as they are.
key_sample side_keys(conversation& with, const dialect& in) {
  key_sample sample;
  try {
    sample = find_side_keys(with, in);
    std::vector<std::vector<std::string>> questions;
    questions.reserve(sample.entries.size());
    for (const key_sample::entry& each : sample.entries)
      questions.push_back(
          {"EVAL", key_question, "2", lock_of_side_key(each.key).value_or(each.key), each.key});
    const std::vector<value> replies = with.ask_all(questions);
    for (std::size_t i = 0; i < replies.size(); ++i) {
      hear_key(replies[i], sample.entries[i]);
      if (is_denial(replies[i])) sample.refusal = replies[i].text;
    }
  } catch (const connection_error& c) {
    sample.refusal = c.reason.message;
  }
  return sample;
}

/// Whether it does something for whoever gives no password. HELLO alone is answered to everybody.
std::optional<bool> is_open(const settings& in, const server_address& at, const tls_context* secure,
                            int stop) {
  if (!in.login.are_given()) return true;
  try {
    conversation with{in, at, {}, secure, stop};
    const value reply = with.ask({"PING"});
    if (is_denial(reply) || reply.text.starts_with("NOAUTH")) return false;
    if (!reply.is(value::kind::error)) return true;
  } catch (const connection_error& c) {
    if (c.reason.code == errc::permission_denied) return false;
  } catch (const parser::garbage&) {
    return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

server_facts facts_of(const settings& in, const server_address& at, const tls_context* secure, int stop) {
  server_facts facts;
  facts.place = at.place();
  facts.user = in.login.user;
  facts.gives_password = in.login.password.is_given() && in.login.user == "default";
  facts.is_local = is_local(at);
  facts.has_guard = !in.is_cluster() && !in.is_quorum();

  conversation with{in, at, in.login, secure, stop};
  std::vector<std::vector<std::string>> questions{{"INFO"}, {"GET", guard_key(in.speech.prefix)}};
  for (const char* pattern :
       {"*append*", "min-replicas-*", "stop-writes-on-bgsave-error", "save", "cluster-node-timeout", "bind",
        "protected-mode", "port", "tls-auth-clients", "client-output-buffer-limit"}) {
    questions.push_back({"CONFIG", "GET", pattern});
  }
  if (in.is_cluster()) questions.push_back({"CLUSTER", "INFO"});
  if (in.is_quorum()) questions.push_back({"GET", quorum_key(in.speech.prefix)});
  if (in.database != 0) static_cast<void>(with.ask({"SELECT", std::to_string(in.database)}));
  const std::vector<value> replies = with.ask_all(questions);
  facts.info = fields_in_info(replies[0]);
  if (replies[1].is(value::kind::text)) facts.guard_marker = replies[1].text;
  facts.info_error = replies[0].is(value::kind::error) ? replies[0].text : "nothing";
  if (in.is_quorum()) facts.set = replies.back();
  if (in.is_cluster()) {
    facts.cluster = fields_in_info(replies.back());
    facts.cluster_error = replies.back().is(value::kind::error) ? replies.back().text : "nothing";
  }
  for (const value& reply : replies) facts.settings.merge(settings_in(reply));
  facts.clock_ahead = clock_ahead(with);
  facts.script_time = script_time(with);
  try_rights(with, in, facts);
  facts.side_keys = side_keys(with, in.speech);
  facts.is_open = is_open(in, at, secure, stop);
  return facts;
}

sentinel_facts facts_of_sentinel(const settings& in, const server_address& at, const tls_context* secure,
                                 int stop) {
  const std::string& name = in.sentinel.primary;
  conversation with{in, at, in.sentinel.login, secure, stop};
  sentinel_facts facts;
  facts.place = at.place();
  std::string question;
  append_address_question(question, name);
  facts.primary = primary_address_in(with.ask_as_written(question));
  const std::vector<value> replies = with.ask_all({{"SENTINEL", "SENTINELS", name},
                                                   {"SENTINEL", "CKQUORUM", name},
                                                   {"SENTINEL", "MASTER", name},
                                                   {"SENTINEL", "MYID"}});
  facts.hear(replies[0], replies[1], replies[2], replies[3]);
  return facts;
}

}  // namespace holdfast::redis
