// SPDX-License-Identifier: Apache-2.0
#include "quorum_steps.hpp"

#include <cstring>

namespace model {

namespace {

const char* const task_names[] = {"nothing", "claim", "try", "yield", "accept", "renewal", "release"};
const char* const word_names[] = {"absent", "queued", "granted", "refused", "kept", "gone"};

std::string server_name(int n) { return "server " + std::to_string(n); }
std::string client_name(int c) { return std::string(1, static_cast<char>('A' + c)); }
std::string text_of(const request& r) {
  std::string text = task_names[r.kind] + std::string{" of "} + name_of(r.owner);
  if (r.kind == accept) text += " (" + std::to_string(r.number) + ")";
  return text;
}

/// Requests and answers are lost, and each request is done with.
void cut(state& s, int n, int c) {
  line& to = s.at[n].to[c];
  const line before = to;
  to = line{};
  to.unconfirmed = before.unconfirmed;
  to.seen = before.seen;
  if (!chosen.is("otherline")) s.at[n].known[c].secret = 0;
}

/// The grant has ended that is under way in an answer or a message.
void grows_late(line& to) {
  to.down.is_stale = to.down.kind != none;
  to.pushed.is_late = to.pushed.is_there;
  to.seen.is_late = to.seen.is_there;
}

}  // namespace

std::string name_of(int owner) {
  return owner == nobody ? "nobody" : client_name(owner / rounds) + std::to_string(owner % rounds + 1);
}

void steps::run() {
  if (release_in_vain()) return;
  for (int c = 0; c < chosen.clients; ++c) {
    of_client(c);
    for (int n = 0; n < servers; ++n) of_line(c, n);
  }
  for (int n = 0; n < servers; ++n) {
    late_request(n);
    if (from_.at[n].box.is_dead) continue;
    time_at(n);
    restarts(n);
  }
}

/// A release that changes nothing commutes with every other step: it is the only one then.
bool steps::release_in_vain() {
  for (int c = 0; c < chosen.clients; ++c) {
    for (int n = 0; n < servers; ++n) {
      const server& at = from_.at[n].box;
      const line& to = from_.at[n].to[c];
      if (to.length == 0 || to.up[0].kind != release || at.is_dead) continue;
      const int owner = to.up[0].owner;
      const bool stands_there = at.now.holder == owner || (at.now.waiting >> owner & 1);
      if (stands_there || (at.now.holder == nobody && at.now.waiting != 0 && !at.is_guarded)) continue;
      take([&](state& s) { carry_out(s, n, c, take_request(s.at[n].to[c]), true); },
           [&] { return server_name(n) + " has nothing to release for " + name_of(owner); });
      return true;
    }
  }
  return false;
}

void steps::of_client(int c) {
  const client& self = from_.of[c];
  const int owner = owner_of(from_, c);
  if (self.phase == idle && self.round < chosen.claims[c]) {
    for (int number = chosen.lowest[c]; number <= chosen.highest[c]; ++number)
      take([&](state& s) { start_claim(s, c, number + self.round * chosen.highest[c]); },
           [&] {
             return name_of(owner) + " claims, with " +
                    std::to_string(number + self.round * chosen.highest[c]);
           });
  }
  if (self.phase == holds)
    take([&](state& s) { let_go(s, c); }, [&] { return name_of(owner) + " releases"; });
  if (self.phase != waits) return;
  if (self.tries) {  // refused; or the votes are split, and it waits for a while
    take([&](state& s) { let_go(s, c); }, [&] { return name_of(owner) + " is refused"; });
    take([&](state& s) { s.of[c].tries = 0; },
         [&] { return name_of(owner) + " waits, as the votes are split"; });
  }
  if (from_.used.given_up < chosen.most.given_up) {
    take([&](state& s) { ++s.used.given_up, let_go(s, c); }, [&] { return name_of(owner) + " gives up"; });
  }
}

/// A server carries a request out. Where its writes may be lost, they may be so from this one on.
void steps::carried_out(state next, int c, int n, request r, bool is_heard, const std::string& named) {
  const memory before = next.at[n].box.now;
  carry_out(next, n, c, r, is_heard);
  const bool has_changed = std::memcmp(&before, &next.at[n].box.now, sizeof before) != 0;
  const std::string text = is_named_ ? named + "; there holds " + name_of(next.at[n].box.now.holder) : named;
  const server& at = from_.at[n].box;
  if (has_changed && chosen.loses_writes && !at.may_lose && from_.used.restarts < chosen.most.restarts) {
    state lossy = next;
    lossy.at[n].box.kept = before;
    lossy.at[n].box.may_lose = 1;
    ++lossy.used.restarts;
    found_(lossy, text + " (this write and later ones may be lost)");
  }
  found_(next, text);
}

void steps::of_line(int c, int n) {
  const line& to = from_.at[n].to[c];
  const seat& known = from_.at[n].known[c];
  const int owner = owner_of(from_, c);
  if (to.down.kind != none)
    take([&](state& s) { hear(s, n, c); },
         [&] {
           return client_name(c) + " hears " + server_name(n) + ": " + task_names[to.down.kind] + " of " +
                  name_of(owner) + " " + word_names[to.down.said] + (to.down.is_stale ? ", too late" : "");
         });
  if (!is_in_flight(from_, n, c)) {
    if (to.pushed.is_there)
      take([&](state& s) { hear_message(s, n, c, to.pushed); },
           [&] { return client_name(c) + " hears the message of " + server_name(n); });
    if (to.seen.is_there && from_.used.repeats < chosen.most.repeats)
      take([&](state& s) { ++s.used.repeats, hear_message(s, n, c, to.seen); },
           [&] { return client_name(c) + " hears the message of " + server_name(n) + " again"; });
  }
  if (to.length != 0 && !from_.at[n].box.is_dead) {
    state next = from_;
    const request r = take_request(next.at[n].to[c]);
    carried_out(next, c, n, r, true, is_named_ ? server_name(n) + " carries out " + text_of(r) : "");
  }
  sends_again(c, n);
  const bool lapses = from_.of[c].phase != idle && known.granted && known.in_time;
  if (lapses && from_.used.lapses < chosen.most.lapses && !chosen.is("stale"))
    take([&](state& s) { ++s.used.lapses, s.at[n].known[c].in_time = 0; },
         [&] { return name_of(owner) + ": its vote of " + server_name(n) + " lapses"; });
  line_breaks(c, n);
}

/// Asking again costs states, and is left out where it could tell nothing new.
bool steps::is_worth_asking(int c, int n) const {
  const memory& m = from_.at[n].box.now;
  const seat& known = from_.at[n].known[c];
  const int owner = owner_of(from_, c);
  const bool is_mine = m.holder == owner;
  if (known.yielding != 0 || is_mine != (known.granted && known.in_time)) return true;
  if (m.holder == nobody && m.waiting != 0 && !from_.at[n].box.is_guarded) return true;
  if (!is_mine) return !(m.waiting >> owner & 1);  // a holder claims where its hold is missing, too
  if (from_.of[c].phase == holds) return false;
  const bool is_other = known.accepted != m.accepted[owner] || known.fence != m.fence || known.refuses;
  const int first = first_of(from_, m);
  return is_other || (first != nobody && is_before(from_, first, owner) && votes_of(from_, c) < majority);
}

void steps::sends_again(int c, int n) {
  const line& to = from_.at[n].to[c];
  if (from_.at[n].box.is_dead) return;
  for (int round = 0; round < rounds; ++round) {
    if (to.length == 0 && (to.unconfirmed >> round & 1))
      take([&](state& s) { send(s, n, c, release, c * rounds + round); },
           [&] { return client_name(c) + " sends a release to " + server_name(n) + " again"; });
  }
  if (from_.of[c].phase == idle || is_in_flight(from_, n, c)) return;
  if (is_worth_asking(c, n))
    take([&](state& s) { ask_again(s, n, c); },
         [&] { return name_of(owner_of(from_, c)) + " asks " + server_name(n) + " again"; });
  if (from_.of[c].phase == waits && votes_of(from_, c) >= majority) {
    state next = from_;
    consider(next, c);
    if (std::memcmp(&next, &from_, sizeof next) != 0)
      found_(next, is_named_ ? name_of(owner_of(from_, c)) + " proposes again" : "");
  }
}

/// All that is under way is lost; but one request may be carried out later, and nobody hears the answer.
void steps::line_breaks(int c, int n) {
  const line& to = from_.at[n].to[c];
  if (from_.used.breaks >= chosen.most.breaks || (to.length == 0 && to.down.kind == none)) return;
  const auto text = [&] { return "the line of " + client_name(c) + " to " + server_name(n) + " breaks"; };
  if (!chosen.only_yields_are_late) take([&](state& s) { ++s.used.breaks, cut(s, n, c); }, text);
  if (from_.at[n].box.late.kind != none || !chosen.requests_come_late) return;
  for (int i = 0; i < to.length; ++i) {
    if (to.up[i].kind == release || to.up[i].kind == renew) continue;
    if (chosen.only_yields_are_late && to.up[i].kind != give_back) continue;
    take(
        [&](state& s) {
          ++s.used.breaks;
          cut(s, n, c);
          s.at[n].box.late = to.up[i];
          s.at[n].box.late_client = static_cast<byte>(c);
        },
        [&] { return text() + ", " + text_of(to.up[i]) + " will come late"; });
  }
}

void steps::late_request(int n) {
  const request r = from_.at[n].box.late;
  if (r.kind == none) return;
  state next = from_;
  next.at[n].box.late = request{};
  next.at[n].box.late_client = 0;
  if (next.at[n].box.is_dead) return found_(next, is_named_ ? "a late request is lost" : "");
  carried_out(next, from_.at[n].box.late_client, n, r, false,
              is_named_ ? server_name(n) + " carries out, LATE, " + text_of(r) : "");
}

/// No client counts a grant here that the server does not know, or has not renewed.
bool steps::is_guard_over(int n) const {
  for (int c = 0; c < chosen.clients; ++c) {
    if (from_.of[c].phase == idle || !counts(from_.at[n].known[c])) continue;
    if (from_.at[n].box.now.holder != owner_of(from_, c)) return false;
    if (!chosen.is("guardvotes") && from_.of[c].phase != holds) return false;
  }
  return true;
}

/// What ends at a server: a grant not before its client has stopped to count it, except one that the server
/// remembers as it was before it lost the renewal.
void steps::time_at(int n) {
  const server& at = from_.at[n].box;
  if (const int holder = at.now.holder; holder != nobody) {
    const int c = holder / rounds;
    const bool is_lived_in = is_current(from_, holder);
    const bool is_counted = is_lived_in && from_.at[n].known[c].granted && from_.at[n].known[c].in_time;
    const bool may_end = !is_counted || chosen.is("stale") || (at.is_guarded && at.has_lost);
    if (!is_lived_in || (from_.used.ends < chosen.most.ends && may_end))
      take(
          [&](state& s) {
            s.used.ends = static_cast<byte>(s.used.ends + is_lived_in);
            drop(s, n, holder);
            if (is_lived_in && !chosen.is("stale")) grows_late(s.at[n].to[c]);
          },
          [&] { return server_name(n) + ": the grant of " + name_of(holder) + " ends"; });
  }
  for (int o = 0; o < owners; ++o) {
    const bool is_lived_in = is_current(from_, o);
    if (!(at.now.waiting >> o & 1) || (is_lived_in && from_.used.left_queues >= chosen.most.left_queues))
      continue;
    take(
        [&](state& s) {
          s.used.left_queues = static_cast<byte>(s.used.left_queues + is_lived_in), drop(s, n, o);
        },
        [&] { return server_name(n) + ": the place of " + name_of(o) + " ends"; });
  }
  if (at.is_guarded && is_guard_over(n))
    take([&](state& s) { end_guard(s, n); }, [&] { return server_name(n) + ": the guard is over"; });
}

void steps::restarts(int n) {
  const auto restart = [&](state& s, const memory& knows) {
    server& at = s.at[n].box;
    at = server{};
    at.now = knows;
    at.is_guarded = !chosen.is("noguard");
    for (int c = 0; c < chosen.clients; ++c) cut(s, n, c);
  };
  const server& at = from_.at[n].box;
  const bool has_one_left = from_.used.restarts < chosen.most.restarts;
  if (has_one_left && chosen.restarts_whole)
    take([&](state& s) { ++s.used.restarts, restart(s, at.now); },
         [&] { return server_name(n) + " RESTARTS, and remembers all"; });
  if (has_one_left && chosen.restarts_empty) {
    memory knows{};
    knows.holder = nobody;
    take([&](state& s) { ++s.used.restarts, restart(s, knows); },
         [&] { return server_name(n) + " RESTARTS empty"; });
  }
  if (at.may_lose)
    take([&](state& s) { restart(s, at.kept), s.at[n].box.has_lost = !chosen.is("noguard"); },
         [&] {
           return server_name(n) + " RESTARTS without the last writes; there holds " +
                  name_of(at.kept.holder);
         });
  if (from_.used.deaths < chosen.most.deaths)
    take(
        [&](state& s) {
          ++s.used.deaths;
          memory knows{};
          knows.holder = nobody;
          restart(s, knows);
          s.at[n].box.is_guarded = 0;
          s.at[n].box.is_dead = 1;
          for (int c = 0; c < chosen.clients; ++c) s.at[n].to[c].unconfirmed = 0;
        },
        [&] { return server_name(n) + " DIES"; });
}

}  // namespace model
