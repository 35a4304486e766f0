// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/link/connection.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <poll.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stores/redis/protocol/request_fsm.hpp"
#include "stores/redis/protocol/sentinel_replies.hpp"
#include "stores/redis/protocol/server_answers.hpp"

namespace holdfast::redis {

namespace {

/// More notifications than that before an answer are none that this client has caused.
constexpr std::size_t most_early = 10'000;

/// SUBSCRIBE is answered by a push.
bool is_confirmation(const value& v) { return !v.items.empty() && v.items[0].text == "subscribe"; }

/// The server's error reply to the greeting, without the password: servers and proxies repeat the command,
/// some of them shortened.
std::string without_password(std::string error, const std::string& password) {
  constexpr std::size_t shortest_part = 4;  // of a shortened password
  if (password.empty()) return error;
  const std::string_view begin = std::string_view{password}.substr(0, shortest_part);
  for (auto at = error.find(begin); at != std::string::npos; at = error.find(begin, at + 3)) {
    std::size_t same = begin.size();
    while (same < password.size() && at + same < error.size() && error[at + same] == password[same]) ++same;
    error.replace(at, same, "***");
  }
  return error;
}

[[noreturn]] void refuse(const std::string& error) {
  if (error.starts_with("ERR unknown command") || error.starts_with("NOPROTO")) {
    throw connection_error{
        {errc::unavailable,
         "the server does not speak RESP3 (HELLO 3); Holdfast needs Redis 6 or newer, or Valkey"},
        false};
  }
  store::request_error t = request_error_of(error);
  const bool full = error.find("max number of clients") != std::string::npos;
  throw connection_error{std::move(t.reason), t.retryable || full};
}

}  // namespace

void introduction::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t n = with_.stream->write_some(bytes);
    bytes.remove_prefix(n);
    if (n == 0) limit_.wait(with_.stream->descriptor(), POLLOUT);
  }
}

value introduction::hear() {
  while (true) {
    if (auto v = with_.parser.next()) {
      if (!v->is(value::kind::push) || is_confirmation(*v)) return std::move(*v);
      if (with_.early.size() == most_early) throw parser::garbage{"notifications instead of an answer"};
      with_.early.push_back(std::move(*v));
      continue;
    }
    limit_.require_time();
    std::array<char, 4096> bytes{};
    const std::size_t n = with_.stream->read_some(bytes.data(), bytes.size());
    with_.parser.feed({bytes.data(), n});
    if (n == 0)
      limit_.wait(with_.stream->descriptor(), with_.stream->reading_wants_to_write() ? POLLOUT : POLLIN);
  }
}

value introduction::ask(std::initializer_list<std::string_view> arguments) {
  std::string question;
  append(question, arguments);
  send(question);
  return hear();
}

void append_hello(std::string& out, const std::optional<login_data>& login) {
  if (login)
    append(out, {"HELLO", "3", "AUTH", login->user, login->password});
  else
    append(out, {"HELLO", "3"});
}

void require_no_error(const value& reply, const std::optional<login_data>& login) {
  if (reply.is(value::kind::error)) refuse(without_password(reply.text, login ? login->password : ""));
}

const value* field_of(const value& hello, std::string_view name) {
  for (std::size_t i = 0; i + 1 < hello.items.size(); i += 2) {
    if (hello.items[i].text == name) return &hello.items[i + 1];
  }
  return nullptr;
}

// ---- dial

namespace {

/// \throws connection_error where the server does not answer that.
void ask_whether_it_grants(connection& made, introduction& talk, const dialect& in,
                           const guard_marker& marker, kept_writes writes = kept_writes::unknown) {
  std::string question;
  made.guard.append_question(question, in, true, marker, writes);
  talk.send(question);
  if (auto refusal = made.guard.hear(talk.hear(), in, boot_clock::now())) {
    throw connection_error{std::move(refusal->reason), refusal->retryable};
  }
  made.has_answered_guard = true;
}

/// Redis 7 has them, and so has Valkey, which gives itself that version here.
bool has_shard_channels(const value& hello) {
  const value* const version = field_of(hello, "version");
  int major = 0;
  if (version != nullptr)
    std::from_chars(version->text.data(), version->text.data() + version->text.size(), major);
  return major >= 7;
}

/// The URL for a Sentinel, with the names of what it monitors, if it tells them.
[[noreturn]] void refuse_sentinel(const settings& in, const server_address& to, introduction& talk) {
  const std::vector<std::string> names = primary_names_in(talk.ask({"SENTINEL", "MASTERS"}));
  std::string text = "the server is a Sentinel, which keeps no locks; write " +
                     std::string{in.tls.on ? "rediss" : "redis"} + "+sentinel://" + to.place() + "/" +
                     (names.empty() ? "PRIMARY" : names.front());
  if (names.empty()) text += ", with the name that the Sentinel monitors the primary by";
  if (names.size() > 1) text += ", or another name that it knows: " + listed(names);
  throw connection_error{{errc::foreign_store, text}, false};
}

/// Refuses a server of another kind than the URL says. \return whether it is one of a cluster.
bool require_mode(const settings& in, const server_address& to, const value& hello, introduction& talk) {
  const value* const mode = field_of(hello, "mode");
  if (mode == nullptr) return in.is_cluster();
  if (mode->text == "sentinel") refuse_sentinel(in, to, talk);
  const bool is_cluster = mode->text == "cluster";
  if (is_cluster == in.is_cluster()) return is_cluster;
  const std::string scheme = in.tls.on ? "rediss" : "redis";
  throw connection_error{{errc::foreign_store,
                          is_cluster ? "the server is a node of a cluster; write " + scheme + "+cluster://" +
                                           to.place() + ", best with more of its nodes"
                                     : "the server is no node of a cluster (its mode in HELLO); its URL is " +
                                           scheme + "://" + to.place()},
                         false};
}

/// Refuses a server on which leases would be lost.
void require_primary(const settings& to, const value& hello, introduction& talk,
                     const std::optional<login_data>& login) {
  // A replica renews nothing. Trying again makes sense: after a failover the host's name may lead to the
  // primary.
  std::string role;
  std::string source = "HELLO";
  if (const value* const field = field_of(hello, "role"); field != nullptr) {
    role = field->text;
  } else if (to.has_sentinels()) {  // a Sentinel may be late, or lie: the server has to say it
    source = "ROLE";
    const value reply = talk.ask({"ROLE"});
    require_no_error(reply, login);
    role = reply.items.empty() ? "replica" : reply.items[0].text;
    if (role != "master") role = "replica";
  }
  if (role != "replica" && role != "slave") return;
  const std::string advice = to.has_sentinels() ? "" : "; the store's URL has to lead to the primary";
  throw connection_error{
      {errc::unavailable, "the server is a replica (its role in " + source + ")" + advice}};
}

/// Of one of several servers: which servers its clients name, which process it is, and whether it has each
/// write on its disk. What this user may not ask is not known.
void ask_who_it_is(connection& made, introduction& talk, const std::string& prefix, kept_writes& writes) {
  std::string question;
  append(question, {"GET", quorum_key(prefix)});
  append(question, {"INFO", "server"});
  append(question, {"CONFIG", "GET", "*append*"});
  talk.send(question);
  const value set = talk.hear();
  answer_fields of_server = fields_in_info(talk.hear());
  made.quorum = description_of(set, std::move(of_server["run_id"]));
  writes = kept_writes_in(talk.hear());
}

}  // namespace

quorum::self_description description_of(const value& set, std::string run) {
  quorum::self_description said;
  said.run = std::move(run);
  if (set.is(value::kind::text))
    said.set = set.text;
  else
    said.keeps_set = set.is(value::kind::null);
  return said;
}

connection dial(const settings& in, const server_address& to, const tls_context* secure, io_deadline limit,
                const wishes& of) {
  connection made;
  made.guard = failover_guard{of.known_marker};
  made.stream = connect_stream(to, secure, limit);
  limit.begin("the server to answer");
  introduction talk{made, limit};
  std::string hello;
  const auto login = in.login.current();
  append_hello(hello, login);
  talk.send(hello);
  const value greeting = talk.hear();
  require_no_error(greeting, login);
  // A replica in a cluster knows who has the slots, and refuses requests for them.
  if (require_mode(in, to, greeting, talk)) {
    made.has_shard_channels = has_shard_channels(greeting);
  } else {
    require_primary(in, greeting, talk, login);
  }

  // If the server refuses an optional command, that costs performance only, or the command is repeated when
  // needed. It must accept the others.
  std::string rest;
  std::vector<bool> needed;
  const auto ask = [&](bool is_needed, std::initializer_list<std::string_view> arguments) {
    append(rest, arguments);
    needed.push_back(is_needed);
  };
  ask(false, {"CLIENT", "INFO"});
  if (!of.former.empty()) {  // before any other command
    rest += of.former;
    needed.push_back(false);
  }
  // Loads the scripts here and not at the first NOSCRIPT: a request that is sent again would run after
  // requests that were sent later.
  for (const std::string_view script : all_scripts(in.speech)) ask(false, {"SCRIPT", "LOAD", script});
  if (in.database != 0) ask(true, {"SELECT", std::to_string(in.database)});
  ask(true, {"SUBSCRIBE", channel_of(of.client)});
  talk.send(rest);
  std::string own;
  for (std::size_t i = 0; i < needed.size(); ++i) {
    const value answer = talk.hear();
    if (needed[i]) require_no_error(answer, login);
    if (i == 0) own = own_address(answer, made.stream->descriptor());
  }
  auto writes = kept_writes::unknown;
  if (in.is_quorum()) ask_who_it_is(made, talk, in.speech.prefix, writes);
  // A node of a cluster is asked before its first request: it may have no slot.
  if (in.speech.guard.count() != 0 && !in.is_cluster())
    ask_whether_it_grants(made, talk, in.speech, of.marker, writes);

  const value* const id = field_of(greeting, "id");
  if (!own.empty() && id != nullptr && id->number > 0)
    append(made.kill, {"CLIENT", "KILL", "ID", std::to_string(id->number), "ADDR", own});
  return made;
}

}  // namespace holdfast::redis
