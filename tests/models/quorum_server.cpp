// SPDX-License-Identifier: Apache-2.0
// What src/stores/redis/protocol/lua/quorum does for exclusive claims: each request is one step.
#include <algorithm>

#include "quorum_state.hpp"

namespace model {

namespace {

/// The fence. A server that has forgotten it takes its clock, or the largest number that stands there. After
/// the guard its clock is above all that was accepted before it forgot. Before that it may be below.
int last_of(const state& s, int n) {
  const server& at = s.at[n].box;
  if (at.now.knows_fence) return at.now.fence;
  int last = at.is_guarded && chosen.numbers_ahead ? 0 : s.top_token;
  for (int o = 0; o < owners; ++o)
    if (at.now.holder == o || (at.now.waiting >> o & 1)) last = std::max<int>(last, s.number[o]);
  return last;
}

void know_fence(state& s, int n, int fence) {
  s.at[n].box.now.fence = static_cast<byte>(fence);
  s.at[n].box.now.knows_fence = 1;
}

bool is_acceptable(const state& s, int n, int owner, int number) {
  const int last = last_of(s, n);
  return number > last || (number == last && s.at[n].box.now.accepted[owner] == number);
}

void set_accepted(state& s, int n, int owner, int number) {
  know_fence(s, n, number);
  s.at[n].box.now.accepted[owner] = static_cast<byte>(number);
  const bool may_be_forgotten = chosen.most.restarts != 0;
  if (may_be_forgotten && number > s.top_token) s.top_token = static_cast<byte>(number);
}

template <class Action>
void for_each_grant(state& s, int n, int owner, Action act) {
  spot& at = s.at[n];
  const int c = owner / rounds;
  act(at.box.now.grant[owner]);
  if (at.box.may_lose) act(at.box.kept.grant[owner]);
  if (at.box.late.kind == give_back && at.box.late.owner == owner) act(at.box.late.grant);
  if (is_current(s, owner) && owner_of(s, c) == owner) {
    act(at.known[c].yielding);
    act(at.to[c].down.grant);
  }
  for (int i = 0; i < at.to[c].length; ++i)
    if (at.to[c].up[i].kind == give_back && at.to[c].up[i].owner == owner) act(at.to[c].up[i].grant);
}

byte new_grant(state& s, int n, int owner) {
  byte largest = 0;
  for_each_grant(s, n, owner, [&](byte each) { largest = std::max(largest, each); });
  return static_cast<byte>(largest + 1);
}

void begin_hold(state& s, int n, int owner) {
  if (is_acceptable(s, n, owner, s.number[owner])) {
    set_accepted(s, n, owner, s.number[owner]);
  } else {
    know_fence(s, n, last_of(s, n));
    s.at[n].box.now.accepted[owner] = 0;
  }
  memory& m = s.at[n].box.now;
  m.grant[owner] = new_grant(s, n, owner);
  m.holder = static_cast<byte>(owner);
  m.waiting = static_cast<byte>(m.waiting & ~(1 << owner));
}

void serve(state& s, int n) {
  const server& at = s.at[n].box;
  if (at.is_guarded || at.now.holder != nobody || at.now.waiting == 0) return;
  const int first = first_of(s, at.now);
  begin_hold(s, n, first);
  if (!(at.now.secrets >> first & 1) || !is_current(s, first)) return;
  line& to = s.at[n].to[first / rounds];
  to.pushed = message{1, 0, at.now.accepted[first], static_cast<byte>(last_of(s, n))};
  if (chosen.most.repeats != 0) to.seen = to.pushed;
}

bool is_overtaken(const state& s, const memory& m, int owner) {
  const int first = first_of(s, m);
  return first != nobody && is_before(s, first, owner);
}

/// Returns whether it was refused.
bool begin_claim(state& s, int n, int owner, bool may_wait, bool has_secret) {
  memory& m = s.at[n].box.now;
  if (m.holder == owner) return false;
  serve(s, n);
  if (m.holder == owner || (m.waiting >> owner & 1)) return false;
  const int first = first_of(s, m);
  const bool is_free = m.holder == nobody && (first == nobody || is_before(s, owner, first));
  if (is_free && !s.at[n].box.is_guarded) {
    begin_hold(s, n, owner);
    return false;
  }
  if (!may_wait) return true;
  know_fence(s, n, last_of(s, n));
  m.accepted[owner] = 0;
  m.waiting = static_cast<byte>(m.waiting | 1 << owner);
  if (has_secret) m.secrets = static_cast<byte>(m.secrets | 1 << owner);
  return false;
}

void end_claim(state& s, int n, int owner) {
  memory& m = s.at[n].box.now;
  if (m.holder == owner) m.holder = nobody;
  m.waiting = static_cast<byte>(m.waiting & ~(1 << owner));
  m.secrets = static_cast<byte>(m.secrets & ~(1 << owner));
  m.accepted[owner] = m.grant[owner] = 0;
}

/// A yield that names another grant does nothing. One that finds nobody to give way to makes a new number,
/// because a copy of it may be under way.
void yield_grant(state& s, int n, const request& r) {
  memory& m = s.at[n].box.now;
  const int owner = r.owner;
  if (m.holder == owner && (m.grant[owner] == r.grant || chosen.is("noserial"))) {
    if (is_overtaken(s, m, owner)) {
      know_fence(s, n, last_of(s, n));
      m.holder = nobody;
      m.grant[owner] = 0;
      m.waiting = static_cast<byte>(m.waiting | 1 << owner);
    } else if (!chosen.is("weakserial")) {
      m.grant[owner] = new_grant(s, n, owner);
    }
  }
  serve(s, n);
}

}  // namespace

int first_of(const state& s, const memory& m) {
  int first = nobody;
  for (int o = 0; o < owners; ++o)
    if ((m.waiting >> o & 1) && (first == nobody || is_before(s, o, first))) first = o;
  return first;
}

void drop(state& s, int n, int owner) { end_claim(s, n, owner); }

void end_guard(state& s, int n) {
  server& at = s.at[n].box;
  at.is_guarded = at.has_lost = 0;
  // The guard is no shorter than any ttl: only a hold that is renewed, or was asked for, lasts longer.
  const int holder = at.now.holder;
  if (holder != nobody && s.of[holder / rounds].phase != holds && at.now.accepted[holder] != 0 &&
      !chosen.is("guardvotes"))
    end_claim(s, n, holder);
  if (!chosen.is("oldnumbers") && at.now.knows_fence) at.now.fence = std::max(at.now.fence, s.top_token);
}

void renumber_grants(state& s, int n, int owner) {
  byte seen[16];
  int count = 0;
  for_each_grant(s, n, owner, [&](byte each) {
    if (each != 0 && std::find(seen, seen + count, each) == seen + count) seen[count++] = each;
  });
  std::sort(seen, seen + count);
  for_each_grant(s, n, owner, [&](byte& each) {
    if (each != 0) each = static_cast<byte>(1 + (std::find(seen, seen + count, each) - seen));
  });
}

void carry_out(state& s, int n, int c, request r, bool is_heard) {
  memory& m = s.at[n].box.now;
  const int owner = r.owner;
  bool is_refused = false;
  switch (r.kind) {
    case claim: is_refused = begin_claim(s, n, owner, true, r.has_secret); break;
    case try_claim: is_refused = begin_claim(s, n, owner, false, false); break;
    case give_back: yield_grant(s, n, r); break;
    case accept:
      if (m.holder == owner && !s.at[n].box.is_guarded && is_acceptable(s, n, owner, r.number))
        set_accepted(s, n, owner, r.number);
      if (m.holder != owner) serve(s, n);
      break;
    case release:
      end_claim(s, n, owner);
      serve(s, n);
      if (is_heard)
        s.at[n].to[c].unconfirmed = static_cast<byte>(s.at[n].to[c].unconfirmed & ~(1 << owner % rounds));
      return;
    default: break;
  }
  // Its client may have given the grant back, and the server forgotten it.
  const bool is_vote = r.kind == renew || !s.at[n].box.is_guarded || chosen.is("guardvotes");
  if (m.holder == owner && !is_vote) m.accepted[owner] = 0;
  if (!is_heard || !is_current(s, owner)) return;
  answer a{};
  a.kind = r.kind;
  if (r.kind == renew) {
    a.said = m.holder == owner ? kept : gone;
  } else if (m.holder == owner && is_vote) {
    a.said = granted;
    a.accepted = m.accepted[owner];
    a.fence = static_cast<byte>(last_of(s, n));
    a.is_overtaken = is_overtaken(s, m, owner);
    a.grant = m.grant[owner];
  } else {
    a.said = is_refused ? refused : m.holder == owner || (m.waiting >> owner & 1) ? queued : absent;
  }
  line& to = s.at[n].to[c];
  to.down = a;
  if (to.pushed.is_there && !chosen.is("outrun")) {  // it has come first, when the request was under way
    const message m = to.pushed;
    hear_message(s, n, c, m);
  }
}

}  // namespace model
