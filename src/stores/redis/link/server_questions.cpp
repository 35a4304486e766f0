#include "stores/redis/link/server_questions.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/owner_id.hpp"
#include "runtime/measurement.hpp"
#include "stores/redis/link/conversation.hpp"
#include "stores/redis/protocol/keys.hpp"

namespace holdfast::redis {

namespace {

using std::chrono::microseconds;

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
  facts.is_local = is_local(at);
  facts.has_guard = !in.is_cluster() && !in.is_quorum();

  conversation with{in, at, in.login, secure, stop};
  std::vector<std::vector<std::string>> questions{{"INFO"}, {"GET", guard_key(in.speech.prefix)}};
  for (const char* pattern : {"*append*", "min-replicas-*", "stop-writes-on-bgsave-error", "save",
                              "cluster-node-timeout", "bind", "protected-mode", "port", "tls-auth-clients"}) {
    questions.push_back({"CONFIG", "GET", pattern});
  }
  if (in.is_quorum()) questions.push_back({"GET", quorum_key(in.speech.prefix)});
  if (in.database != 0) static_cast<void>(with.ask({"SELECT", std::to_string(in.database)}));
  const std::vector<value> replies = with.ask_all(questions);
  facts.info = fields_in_info(replies[0]);
  if (replies[1].is(value::kind::text)) facts.guard_marker = replies[1].text;
  facts.info_error = replies[0].is(value::kind::error) ? replies[0].text : "nothing";
  if (in.is_quorum()) facts.set = replies.back();
  for (const value& reply : replies) facts.settings.merge(settings_in(reply));
  facts.clock_ahead = clock_ahead(with);
  facts.script_time = script_time(with);
  try_rights(with, in, facts);
  facts.is_open = is_open(in, at, secure, stop);
  return facts;
}

}  // namespace holdfast::redis
