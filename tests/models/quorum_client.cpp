// SPDX-License-Identifier: Apache-2.0
// What src/stores/quorum/protocol/contender does. The core asks every server again now and then, and
// notifications make it ask at once: so a claim may ask at any moment. Only notifications with a proof are in
// the model.
#include <algorithm>
#include <cstring>

#include "quorum_state.hpp"

namespace model {

namespace {

int token_of(const state& s, int c) {
  return s.of[c].proposed != 0 ? s.of[c].proposed : s.number[owner_of(s, c)];
}

void send_give_back(state& s, int n, int c) {
  send(s, n, c, give_back, owner_of(s, c), 0, s.at[n].known[c].yielding);
}

bool can_accept(const seat& of, int token) {
  if (!counts(of)) return false;
  return of.accepted == token || (!of.refuses && of.fence < token);
}

int acceptors(const state& s, int c, int token) {
  int sum = 0;
  for (const spot& at : s.at) sum += can_accept(at.known[c], token);
  return sum;
}

/// The largest number that follows a fence, and that a majority can accept; 0: there is none.
int next_proposal(const state& s, int c) {
  int best = 0;
  for (const spot& at : s.at) {
    if (!counts(at.known[c])) continue;
    const int next = std::max<int>(at.known[c].fence, token_of(s, c)) + 1;
    if (next > best && acceptors(s, c, next) >= majority) best = next;
  }
  return best;
}

bool is_proposing(const state& s, int n, int c) {
  const line& to = s.at[n].to[c];
  if (to.down.kind == accept) return true;
  return std::any_of(to.up, to.up + to.length,
                     [&](const request& r) { return r.kind == accept && r.owner == owner_of(s, c); });
}

void propose(state& s, int c) {
  for (int n = 0; n < servers; ++n)
    if (is_proposing(s, n, c)) return;
  if (s.of[c].proposed == 0 || acceptors(s, c, s.of[c].proposed) < majority) {
    const int next = next_proposal(s, c);
    if (next == 0) return;
    if (next > largest_number) s.is_beyond = 1;
    s.of[c].proposed = static_cast<byte>(next);
  }
  const int token = token_of(s, c);
  for (int n = 0; n < servers; ++n) {
    const seat& of = s.at[n].known[c];
    if (can_accept(of, token) && of.accepted != token && !is_in_flight(s, n, c))
      send(s, n, c, accept, owner_of(s, c), token);
  }
}

void take(state& s, int n, int c, const answer& a) {
  seat& of = s.at[n].known[c];
  if (a.kind == give_back) of.yielding = 0;
  if (a.kind == renew) of.yielding = 0;  // sent before the answer to a yield by a mutant alone
  const seat before = of;
  of = seat{};
  of.yielding = before.yielding;
  of.secret = a.said == queued || chosen.is("keptsecret") ? before.secret : 0;
  if (!a.is_stale) s.at[n].to[c].pushed.is_late = s.at[n].to[c].seen.is_late = 0;
  if (a.said != granted && a.said != kept) return;
  of.granted = 1;
  of.in_time = !a.is_stale;
  of.accepted = a.accepted;
  of.fence = a.fence;
  of.refuses = a.kind == accept && a.accepted != token_of(s, c) && a.fence < token_of(s, c);
}

}  // namespace

bool counts(const seat& of) { return of.granted && of.in_time && of.yielding == 0; }

int votes_of(const state& s, int c) {
  int sum = 0;
  for (const spot& at : s.at) sum += counts(at.known[c]);
  return sum;
}

bool believes(const state& s, int c) { return s.of[c].phase == holds && votes_of(s, c) >= majority; }

request take_request(line& from) {
  const request r = from.up[0];
  --from.length;
  std::memmove(from.up, from.up + 1, sizeof(request) * from.length);
  from.up[from.length] = request{};
  return r;
}

bool is_in_flight(const state& s, int n, int c) {
  const line& to = s.at[n].to[c];
  const int owner = owner_of(s, c);
  if (to.down.kind != none) return true;
  return std::any_of(to.up, to.up + to.length,
                     [&](const request& r) { return r.owner == owner && r.kind != release; });
}

void send(state& s, int n, int c, byte kind, int owner, int number, int grant) {
  if (s.at[n].box.is_dead) return;
  line& to = s.at[n].to[c];
  if (to.length == line_length) {
    s.is_beyond = 1;
    return;
  }
  const byte secret = kind == claim ? s.at[n].known[c].secret : 0;
  to.up[to.length++] =
      request{kind, static_cast<byte>(owner), static_cast<byte>(number), static_cast<byte>(grant), secret};
}

void start_claim(state& s, int c, int number) {
  s.of[c].phase = waits;
  s.of[c].tries = c < chosen.tries;
  s.number[owner_of(s, c)] = static_cast<byte>(number);
  for (int n = 0; n < servers; ++n) {
    s.at[n].known[c] = seat{};
    s.at[n].known[c].secret = chosen.proves_grants && !s.of[c].tries;
    ask_again(s, n, c);
  }
}

/// A yield that is not answered goes first: it may have been carried out.
void ask_again(state& s, int n, int c) {
  const seat& of = s.at[n].known[c];
  const bool forgets_yield = s.of[c].phase == holds && chosen.is("vainyield");
  if (of.yielding != 0 && !forgets_yield) return send_give_back(s, n, c);
  const bool is_renewed = s.of[c].phase == holds && (of.granted || forgets_yield);
  send(s, n, c, is_renewed ? renew : s.of[c].tries ? try_claim : claim, owner_of(s, c));
}

void let_go(state& s, int c) {
  const int owner = owner_of(s, c);
  for (int n = 0; n < servers; ++n) {
    line& to = s.at[n].to[c];
    s.at[n].known[c] = seat{};
    to.down = answer{};  // nobody listens any more
    to.pushed = to.seen = message{};
    if (s.at[n].box.is_dead) continue;
    to.unconfirmed = static_cast<byte>(to.unconfirmed | 1 << s.of[c].round);
    send(s, n, c, release, owner);
  }
  s.of[c] = client{idle, static_cast<byte>(s.of[c].round + 1), 0, 0, 0};
}

void consider(state& s, int c) {
  client& self = s.of[c];
  if (self.phase == holds && votes_of(s, c) < majority) return let_go(s, c);
  if (self.phase != waits || votes_of(s, c) < majority) return;
  const int token = token_of(s, c);
  int same = 0;
  for (const spot& at : s.at) same += counts(at.known[c]) && at.known[c].accepted == token;
  if (same < majority) return propose(s, c);
  self.phase = holds;
  self.token = static_cast<byte>(token);
  self.tries = 0;
}

void hear(state& s, int n, int c) {
  const answer a = s.at[n].to[c].down;
  s.at[n].to[c].down = answer{};
  // The core lets a hold go at its deadline: no later answer revives it.
  if (s.of[c].phase == holds && votes_of(s, c) < majority && !chosen.is("revive")) return let_go(s, c);
  take(s, n, c, a);
  if (s.of[c].phase == waits) {
    seat& of = s.at[n].known[c];
    if (of.granted && a.is_overtaken && votes_of(s, c) < majority && !chosen.is("noyield")) {
      of = seat{};
      of.yielding = a.grant;
      send_give_back(s, n, c);
    } else if (a.said == absent) {
      ask_again(s, n, c);
    }
  }
  if (!(s.of[c].phase == holds && chosen.is("revive"))) consider(s, c);
}

/// A secret that has been told is used up, whether or not it proves a grant.
void hear_message(state& s, int n, int c, message m) {
  s.at[n].to[c].pushed = message{};
  seat& of = s.at[n].known[c];
  const bool proves = of.secret && s.of[c].phase == waits && !of.granted && of.yielding == 0 &&
                      (!is_in_flight(s, n, c)) && !m.is_late;
  if (proves || !chosen.is("toldsecret")) of.secret = chosen.is("keptsecret");
  if (!proves) return;
  of.granted = of.in_time = 1;
  of.accepted = m.accepted;
  of.fence = m.fence;
  of.refuses = 0;
  consider(s, c);
}

}  // namespace model
