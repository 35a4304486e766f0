// SPDX-License-Identifier: Apache-2.0
// What a state of the model holds: all servers, all clients, and what is under way between them. All of it is
// bytes, so that two states are equal if their bytes are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace model {

using byte = std::uint8_t;

constexpr int servers = 3;
constexpr int majority = 2;
constexpr int most_clients = 3;
constexpr int rounds = 2;                      // most claims of one client
constexpr int owners = most_clients * rounds;  // an owner is one claim of a client
constexpr int nobody = 7;
constexpr int line_length = 4;
constexpr int largest_number = 15;

enum task : byte { none, claim, try_claim, give_back, accept, renew, release };
enum word : byte { absent, queued, granted, refused, kept, gone };
enum phase : byte { idle, waits, holds };

struct request {
  byte kind, owner, number, grant, has_secret;
};

/// To the current claim of a client. It has one request to a server under way, so there is one answer.
struct answer {
  byte kind, said, is_stale, is_overtaken, accepted, fence, grant;
};

/// All that a server may forget.
struct memory {
  byte holder, fence, knows_fence;
  byte waiting, secrets;  // one bit for each owner; secrets: its claim has brought one
  byte accepted[owners];
  byte grant[owners];  // its number, of the holder
};

struct server {
  memory now, kept;  // kept: as it was before the writes that it may lose
  byte may_lose, is_guarded, has_lost, is_dead;
  request late;  // of a connection that broke
  byte late_client;
};

/// What a client knows of a server. `in_time`: within one ttl of the request that was answered by the grant.
/// `secret`: a notification is believed that has it.
struct seat {
  byte granted, in_time, accepted, fence, yielding, refuses, secret;
};

/// A notification of a grant, with the secret of the claim. `is_late`: the grant has ended, and its client
/// has heard no answer meanwhile, so it knows that.
struct message {
  byte is_there, is_late, accepted, fence;
};

struct line {
  byte length;
  request up[line_length];
  answer down;
  message pushed;    // behind the answer; one that came before it has told the client nothing
  message seen;      // by somebody who may repeat it
  byte unconfirmed;  // releases: one bit for each round
};

struct spot {
  server box;
  seat known[most_clients];
  line to[most_clients];
};

struct client {
  byte phase, round, proposed, token, tries;
};

/// How often each fault has happened.
struct faults {
  byte breaks, lapses, ends, left_queues, restarts, deaths, given_up, repeats;
};

struct state {
  spot at[servers];
  client of[most_clients];
  byte number[owners];  // of each claim, on all servers
  faults used;
  byte last_token, last_owner;  // of whoever held last
  byte top_token;               // the largest that any server has accepted
  byte is_beyond;               // a bound of the model was exceeded: not explored further
};
static_assert(std::has_unique_object_representations_v<state>, "states are compared byte by byte");

struct settings {
  int clients = 2;
  std::array<int, most_clients> claims{1, 1, 1};
  std::array<int, most_clients> lowest{1, 1, 1}, highest{1, 1, 1};  // the numbers that a claim may have
  int tries = 0;  // clients, from the first, that do not wait
  faults most{};
  bool restarts_empty = false, restarts_whole = false, loses_writes = false;
  bool numbers_ahead = false;  // of the clock of a server that is back, by all that was accepted before
  bool proves_grants = false;
  bool requests_come_late = true, only_yields_are_late = false, checks_progress = true;
  std::string mutant;
  [[nodiscard]] bool is(const char* name) const { return mutant == name; }
};
extern settings chosen;

[[nodiscard]] inline int owner_of(const state& s, int c) { return c * rounds + s.of[c].round; }
[[nodiscard]] inline bool is_current(const state& s, int owner) {
  const client& c = s.of[owner / rounds];
  return c.phase != idle && c.round == owner % rounds;
}
[[nodiscard]] inline bool is_before(const state& s, int a, int b) {
  return s.number[a] != s.number[b] ? s.number[a] < s.number[b] : a < b;
}

// quorum_server.cpp
[[nodiscard]] int first_of(const state& s, const memory& m);
/// A server carries a request out. `is_heard`: its answer has a way back.
void carry_out(state& s, int n, int c, request r, bool is_heard);
void drop(state& s, int n, int owner);
void end_guard(state& s, int n);
/// Numbers the grants of an owner at a server anew, in their order: only whether they are the same matters.
void renumber_grants(state& s, int n, int owner);

// quorum_client.cpp
void start_claim(state& s, int c, int number);
void send(state& s, int n, int c, byte kind, int owner, int number = 0, int grant = 0);
[[nodiscard]] request take_request(line& from);
[[nodiscard]] bool is_in_flight(const state& s, int n, int c);
[[nodiscard]] int votes_of(const state& s, int c);
[[nodiscard]] bool believes(const state& s, int c);
[[nodiscard]] bool counts(const seat& of);
void hear(state& s, int n, int c);
/// \param m a notification with the secret, from the server or repeated by somebody else.
void hear_message(state& s, int n, int c, message m);
void ask_again(state& s, int n, int c);
void consider(state& s, int c);
void let_go(state& s, int c);

}  // namespace model
