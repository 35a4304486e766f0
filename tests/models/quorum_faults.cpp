// SPDX-License-Identifier: Apache-2.0
// What has to hold in every state, and which states are the same.
#include <algorithm>
#include <cstring>

#include "quorum_steps.hpp"

namespace model {

state first_state() {
  state s{};
  s.last_owner = nobody;
  for (spot& at : s.at) {
    at.box.now.holder = nobody;
    at.box.now.knows_fence = 1;
  }
  return s;
}

const char* fault_of(const state& before, state& after) {
  int believers = 0;
  for (int c = 0; c < chosen.clients; ++c) believers += believes(after, c);
  if (believers > 1) return "two believe that they hold";
  for (int c = 0; c < chosen.clients; ++c) {
    const int owner = owner_of(after, c);
    if (!believes(after, c) || (believes(before, c) && owner_of(before, c) == owner)) continue;
    const int token = after.of[c].token;
    if (token < after.last_token || (token == after.last_token && after.last_owner != owner))
      return "a token fell, or was given twice";
    after.last_token = static_cast<byte>(token);
    after.last_owner = static_cast<byte>(owner);
  }
  return nullptr;
}

bool is_quiet(const state& s) {
  for (const spot& at : s.at)
    for (const line& each : at.to)
      if (each.length != 0 || each.down.kind != none) return false;
  return true;
}

namespace {

/// Claims that are over end at the servers, votes of the dead lapse, and guards end once no forgotten vote
/// counts.
void let_time_pass(state& s) {
  for (spot& at : s.at) {
    const int n = static_cast<int>(&at - s.at);
    for (int o = 0; o < owners; ++o)
      if (!is_current(s, o) && (at.box.now.holder == o || (at.box.now.waiting >> o & 1))) drop(s, n, o);
    if (!at.box.is_guarded && !at.box.is_dead) continue;
    for (int c = 0; c < chosen.clients; ++c)
      if (at.box.is_dead || at.box.now.holder != owner_of(s, c)) at.known[c].in_time = 0;
    if (at.box.is_guarded) end_guard(s, n);
  }
}

void act(state& s, int c) {
  client& self = s.of[c];
  for (int n = 0; n < servers; ++n)
    for (int round = 0; round < rounds; ++round)
      if (s.at[n].to[c].unconfirmed >> round & 1) send(s, n, c, release, c * rounds + round);
  if (self.phase == holds || (self.phase == waits && self.tries)) return let_go(s, c);
  if (self.phase == idle && self.round < chosen.claims[c])
    return start_claim(s, c, chosen.highest[c] * (self.round + 1));
  if (self.phase != waits) return;
  for (int n = 0; n < servers; ++n)
    if (!is_in_flight(s, n, c)) ask_again(s, n, c);
}

void deliver_all(state& s) {
  for (bool is_any = true; is_any;) {
    is_any = false;
    for (int c = 0; c < chosen.clients; ++c) {
      for (int n = 0; n < servers; ++n) {
        line& to = s.at[n].to[c];
        is_any = is_any || to.length != 0 || to.down.kind != none;
        if (to.length != 0) {
          const request r = take_request(to);
          if (!s.at[n].box.is_dead) carry_out(s, n, c, r, true);
        }
        if (to.down.kind != none) hear(s, n, c);
      }
    }
  }
}

}  // namespace

bool fair_weather_serves(state s) {
  s.is_beyond = 0;
  for (spot& at : s.at) at.box.late = request{};
  for (int turn = 0; turn < 40; ++turn) {
    bool is_done = true;
    for (int c = 0; c < chosen.clients; ++c)
      is_done = is_done && s.of[c].phase == idle && s.of[c].round >= chosen.claims[c];
    if (is_done || s.is_beyond) return true;
    let_time_pass(s);
    for (int c = 0; c < chosen.clients; ++c) act(s, c);
    deliver_all(s);
  }
  return false;
}

namespace {

unsigned known_owners(const state& s) {
  unsigned known = 0;
  for (int o = 0; o < owners; ++o) known |= is_current(s, o) ? 1U << o : 0U;
  for (const spot& at : s.at) {
    const auto in = [&](const memory& m) { known |= m.waiting | (m.holder == nobody ? 0U : 1U << m.holder); };
    in(at.box.now);
    if (at.box.may_lose) in(at.box.kept);
    if (at.box.late.kind != none) known |= 1U << at.box.late.owner;
    for (const line& each : at.to)
      for (int i = 0; i < each.length; ++i) known |= 1U << each.up[i].owner;
  }
  return known;
}

/// An accepted number counts while its owner holds, or while it is still the fence.
void forget_what_is_over(memory& m, unsigned known) {
  for (int o = 0; o < owners; ++o) {
    const bool is_there = (known >> o & 1) && (m.holder == o || (m.waiting >> o & 1));
    if (!is_there) m.secrets = static_cast<byte>(m.secrets & ~(1 << o));
    if (m.holder != o) m.grant[o] = 0;
    if (!is_there || (m.holder != o && m.accepted[o] != m.fence)) m.accepted[o] = 0;
  }
}

}  // namespace

void normalise(state& s) {
  const unsigned known = known_owners(s);
  for (int o = 0; o < owners; ++o)
    if (!(known >> o & 1)) s.number[o] = 0;
  for (int c = 0; c < chosen.clients; ++c) {
    if (s.of[c].phase != holds) continue;
    for (spot& at : s.at) {  // a holder cares for grants alone
      at.known[c].accepted = at.known[c].fence = at.known[c].refuses = 0;
      at.to[c].down.accepted = at.to[c].down.fence = 0;
    }
  }
  for (spot& at : s.at) {
    forget_what_is_over(at.box.now, known);
    if (at.box.may_lose)
      forget_what_is_over(at.box.kept, known);
    else
      at.box.kept = memory{};
    for (int c = 0; c < chosen.clients; ++c) {
      seat& each = at.known[c];
      if (!each.granted || !each.in_time) each.accepted = each.fence = each.refuses = 0;
      if (s.of[c].phase != waits) each.secret = 0;
      if (each.secret == 0) at.to[c].pushed = at.to[c].seen = message{};
    }
    for (int o = 0; o < owners; ++o) renumber_grants(s, static_cast<int>(&at - s.at), o);
  }
  // The servers are alike.
  std::sort(s.at, s.at + servers,
            [](const spot& a, const spot& b) { return std::memcmp(&a, &b, sizeof a) < 0; });
}

}  // namespace model
