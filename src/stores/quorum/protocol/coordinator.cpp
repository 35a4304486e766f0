// SPDX-License-Identifier: Apache-2.0
#include "stores/quorum/protocol/coordinator.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <string>
#include <variant>

#include "stores/quorum/protocol/problem_list.hpp"
#include "stores/quorum/protocol/shared_view.hpp"

namespace holdfast::quorum {

using store::notification_kind;
using tickets::request;

namespace {

using namespace std::chrono_literals;

constexpr duration join_again = 1s;      // a write of the set that has failed
constexpr duration first_pause = 200ms;  // after a withdrawal that failed
constexpr duration longest_pause = 800ms;

}  // namespace

/// A claim and its machine.
struct coordinator::claimed {
  claimed(store::claim_ptr claim, fencing_token number, const voting_terms& of)
      : machine{std::move(claim), number, of} {}

  contender machine;
  on_reply done;  // of the caller's request; null: none is under way
  store::scheduler::timer timer = 0;
  bool is_over = false;
  time_point revoked_until{};  // a server has said that it is ended by force
};

coordinator::coordinator(store::scheduler& on, voting_terms of, transport& to)
    : terms_{std::move(of)},
      to_{to},
      rounds_{on, terms_, to},
      set_{terms_.places},
      admission_{to.keeps_sets() ? admission::hearing : admission::admitted} {}

void coordinator::stop() { rounds_.stop(); }

void coordinator::send(request r, on_reply done) {
  const bool outer = std::exchange(is_sending_, true);
  dispatch(std::move(r), std::move(done));
  is_sending_ = outer;
}

void coordinator::dispatch(request r, on_reply done) {
  struct each_request {
    coordinator& to;
    on_reply done;

    void operator()(const tickets::acquire& r) { to.claim(r.claim, std::move(done)); }
    void operator()(const tickets::find& r) { to.look(r.owner, std::move(done)); }
    void operator()(const tickets::look& r) { to.look(r.owner, std::move(done)); }
    void operator()(const tickets::renew& r) { to.renew(r, std::move(done)); }
    void operator()(const tickets::release& r) { to.end(r, true, std::move(done)); }
    void operator()(const tickets::withdraw& r) { to.end(r, false, std::move(done)); }
    void operator()(const tickets::downgrade& r) {
      if (const claim_ptr c = to.find(r.owner)) c->machine.lower();
      to.change(r, std::move(done));
    }
    void operator()(tickets::annotate& r) {
      if (const claim_ptr c = to.find(r.owner)) r.metadata = c->machine.annotate(std::move(r.metadata));
      to.change(r, std::move(done));
    }
    /// By the owners of the holds: a server that has granted a claim may not know its final token. No claim's
    /// number is above its token.
    void operator()(const tickets::force_release& r) {
      to.for_each_hold(
          r.name, r.first, r.last,
          [name = r.name](const owner_id& owner, fencing_token token) {
            return ballots::end_hold{name, owner, token};
          },
          "a client of another library holds the lock, and Holdfast leaves its keys alone; delete them on "
          "the servers if no program works under that lock",
          std::move(done));
    }
    void operator()(const tickets::request_release& r) {
      to.for_each_hold(
          r.name, r.first, r.last,
          [name = r.name, reason = r.reason](const owner_id& owner, fencing_token /*token*/) {
            return ballots::ask_owner{name, owner, reason};
          },
          "a client of another library holds the lock, which cannot be asked", std::move(done));
    }
    void operator()(const tickets::inspect& r) { to.inspect(r, std::move(done)); }
    void operator()(const tickets::list& r) {
      to.view<std::vector<lock_summary>>(
          r,
          [&of = to, idle = r.idle](const listings& all) {
            return view_of(all, of.rounds_.majority(), idle);
          },
          std::move(done));
    }
    void operator()(const tickets::joint_request& /*r*/) { assert(!"the link takes none"); }
  };
  std::visit(each_request{*this, std::move(done)}, r);
}

/// Never within the call that asks.
void coordinator::answer(on_reply done, outcome o) {
  if (!is_sending_) return done(std::move(o));
  rounds_.soon([done = std::move(done), o = std::move(o)]() mutable { done(std::move(o)); });
}

// ---- claims

void coordinator::claim(const store::claim_ptr& claim, on_reply done) {
  if (store::capacity_of(*claim) != store::full_capacity) {
    return answer(std::move(done),
                  store::request_error{
                      {errc::invalid_argument,
                       "a majority of independent servers cannot count permits: with 3 servers and 2 permits "
                       "three claims can each have a majority; use one store (redis://)"}});
  }
  if (find(claim->owner)) return look(claim->owner, std::move(done));
  if (auto refusal = set_.conflict())
    return answer(std::move(done), store::request_error{std::move(*refusal)});
  const bool is_known = rounds_.clocks().is_known();
  if (is_known && admission_ == admission::admitted) return begin_claim(claim, std::move(done));
  parked_.emplace_back(claim, std::move(done));
  if (is_known)
    check_server_set();
  else
    ask_for_time();
}

void coordinator::take_back(std::uint64_t request) {
  const auto found = std::find_if(parked_.begin(), parked_.end(),
                                  [&](const auto& each) { return each.second.request == request; });
  if (found == parked_.end()) return;
  const on_reply done = std::move(found->second);
  parked_.erase(found);
  done(store::unsent(rounds_.too_few_known().reason));
}

void coordinator::look(const owner_id& owner, on_reply done) {
  const claim_ptr c = find(owner);
  if (!c) return answer(std::move(done), tickets::reply{tickets::nothing{}});
  c->done = std::move(done);
  if (const auto refusal = set_.conflict(); refusal && !c->machine.holds()) return refuse(c, *refusal);
  carry_out(c, c->machine.ask(rounds_.now()));
}

/// Asks the servers for their clocks, before the first claim.
void coordinator::ask_for_time() {
  if (std::exchange(is_time_due_, true)) return;
  rounds_.ask_all(
      ballots::vote{parked_.front().first, {}, false},
      [this](const outcomes& heard, bool is_last) -> std::optional<outcome> {
        if (rounds_.clocks().is_known()) return tickets::reply{tickets::done{}};
        if (!is_last && !rounds_.has_failed(heard)) return std::nullopt;
        auto problem = rounds_.too_few(heard, is_last);
        problem.maybe_executed = false;  // nothing was claimed
        return problem;
      },
      [this](const outcome& o) {
        is_time_due_ = false;
        if (std::holds_alternative<tickets::reply>(o)) return check_server_set();
        for (auto& [parked, done] : std::exchange(parked_, {})) answer(std::move(done), o);
      });
}

void coordinator::begin_parked() {
  if (admission_ != admission::admitted || !rounds_.clocks().is_known()) return;
  for (auto& [claim, done] : std::exchange(parked_, {})) begin_claim(claim, std::move(done));
}

void coordinator::begin_claim(const store::claim_ptr& claim, on_reply done) {
  const auto c = std::make_shared<claimed>(claim, rounds_.clocks().next(rounds_.now()), terms_);
  c->done = std::move(done);
  if (claim->wait && claim->renews) {
    std::vector<std::uint64_t> secrets(rounds_.servers());
    std::generate(secrets.begin(), secrets.end(), [this] { return rounds_.random(); });
    c->machine.prove_by(secrets);
  }
  claims_[claim->owner] = c;
  carry_out(c, c->machine.ask(rounds_.now()));
}

void coordinator::carry_out(const claim_ptr& c, contender::step s) {
  if (c->is_over) return;
  for (contender::order& each : s.send) {
    rounds_.send_to(each.server, std::move(each.request),
                    [this, c, server = each.server](const outcome& came) {
                      if (!c->is_over) carry_out(c, c->machine.on_reply(rounds_.now(), server, came));
                    });
  }
  rounds_.cancel(c->timer);
  if (s.wake_at) {
    c->timer = rounds_.at(*s.wake_at, [this, c] {
      c->timer = 0;
      carry_out(c, c->machine.wake(rounds_.now()));
    });
  }
  const store::hold claim = c->machine.hold();
  if (s.is_over) end(claim, false, nullptr);
  if (s.answer && c->done) return answer(std::exchange(c->done, nullptr), std::move(*s.answer));
  if (s.is_won) to_.notify({claim.owner, notification_kind::granted, claim.token});
  if (s.should_look) to_.notify({claim.owner, notification_kind::look, claim.token});
}

coordinator::claim_ptr coordinator::find(const owner_id& owner) const {
  const auto found = claims_.find(owner);
  return found == claims_.end() ? nullptr : found->second;
}

/// Nothing that a server still says of the claim counts.
void coordinator::forget(const owner_id& owner) {
  const claim_ptr c = find(owner);
  if (!c) return;
  c->is_over = true;
  rounds_.cancel(c->timer);
  claims_.erase(owner);
}

void coordinator::on_notification(std::size_t server, const store::notification& n) {
  const claim_ptr c = find(n.owner);
  if (!c) return;
  const bool is_revoked = n.kind == notification_kind::revoked;
  if (is_revoked) {
    if (n.token && n.token < c->machine.hold().token) return;  // a former claim of that owner
    c->revoked_until = rounds_.now() + c->machine.hold().ttl;
  }
  const bool is_request = n.kind == notification_kind::release_requested;
  if (!c->machine.holds() && !is_request) carry_out(c, c->machine.on_notification(rounds_.now(), server, n));
  if (is_revoked || is_request) to_.notify({n.owner, n.kind, c->machine.token()});
}

// ---- whether all servers take the client for one of theirs: before its first claim, and from then on

std::optional<failure> coordinator::on_hello(std::size_t server, const self_description& said) {
  if (rounds_.is_stopped() || !to_.keeps_sets()) return std::nullopt;
  set_.on_hello(server, said);
  if (const auto refusal = set_.conflict()) {
    refuse_claims(*refusal);
    remove_own_set();
  }
  check_server_set();
  return set_.conflict_at(server);
}

std::optional<failure> coordinator::joined(std::size_t server, self_description said, bool wrote) {
  if (rounds_.is_stopped()) return std::nullopt;
  if (wrote) set_.wrote(server);
  // Its memory is full, or this user may read the key alone. It is asked again on the next connection.
  if (!said.set) said.keeps_set = false;
  auto refusal = on_hello(server, said);
  if (!refusal) connected(server);
  return refusal;
}

/// The next connection may have been heard, and be coming up, when the write on the one before fails: that is
/// not to cost the write on the new one.
void coordinator::not_joined(std::size_t server) {
  if (rounds_.is_stopped()) return;
  if (set_.failed(server)) {
    rounds_.after(join_again, [this, server] {
      set_.lacks_again(server);
      check_server_set();
    });
  }
  check_server_set();
}

void coordinator::connected(std::size_t server) {
  if (rounds_.is_stopped()) return;
  if (set_.connected(server))
    for (const auto& [owner, each] : claims_) each->machine.restarted(server);
  check_server_set();
}

void coordinator::on_unreachable(std::size_t server) {
  if (rounds_.is_stopped()) return;
  set_.on_unreachable(server);
  check_server_set();
}

/// Before the first claim: asks whether all servers keep the same set, and then writes it if there is
/// none. A client that is refused has written nothing. Later: writes it at servers that come back without it.
void coordinator::check_server_set() {
  if (set_.conflict()) return;
  const bool is_needed =
      admission_ == admission::admitted || (!parked_.empty() && rounds_.clocks().is_known());
  if (!is_needed || !to_.keeps_sets()) return begin_parked();
  if (admission_ == admission::hearing && set_.is_unheard()) return await_servers();
  for (const std::size_t each : set_.lacking()) {
    set_.join(each);
    to_.join(each, set_.text());
  }
  if (admission_ != admission::admitted && set_.is_joining()) return await_servers();
  admission_ = admission::admitted;
  rounds_.cancel(meeting_);
  begin_parked();
}

/// A server that is silent must not cost the first claim the whole silence: a majority has answered, and the
/// others have had as long as these.
void coordinator::await_servers() {
  if (meeting_ != 0) return;
  meeting_ = rounds_.after(terms_.silence / 10, [this] {
    meeting_ = 0;
    admission_ = admission_ == admission::hearing ? admission::joining : admission::admitted;
    check_server_set();
  });
}

/// What this client wrote would refuse the others. But holds need it, to keep clients of other sets away.
void coordinator::remove_own_set() {
  if (admission_ == admission::admitted) return;
  for (const std::size_t each : set_.take_written()) to_.leave(each, set_.text());
}

/// Refuses claims that do not hold yet. One that waits, and that nobody asks for at the moment, looks.
void coordinator::refuse_claims(const failure& reason) {
  rounds_.cancel(meeting_);
  for (auto& [claim, done] : std::exchange(parked_, {}))
    answer(std::move(done), store::request_error{reason});
  std::vector<claim_ptr> all;
  for (const auto& [owner, each] : claims_)
    if (!each->machine.holds()) all.push_back(each);
  for (const claim_ptr& each : all) {
    if (each->is_over) continue;
    if (each->done)
      refuse(each, reason);
    else
      to_.notify({each->machine.hold().owner, notification_kind::look, each->machine.hold().token});
  }
}

/// Nobody has to find out later whether it was granted; but a minority may have it.
void coordinator::refuse(const claim_ptr& c, const failure& reason) {
  on_reply done = std::exchange(c->done, nullptr);
  end(c->machine.hold(), false, nullptr);
  answer(std::move(done), store::request_error{reason});
}

// ---- holds

/// A hold is kept if a majority has kept it, and lost if a majority cannot be reached any more.
void coordinator::renew(const tickets::renew& batch, on_reply done) {
  if (batch.is_last) return renew_last(batch, std::move(done));
  const auto at_server = [this](const owner_id& owner, std::size_t server, bool has_it) {
    claim_at_missing(owner, server, has_it);
  };
  rounds_.ask_all(batch, renewal_of(batch.holds, at_server), std::move(done));
}

/// Renews a hold that nobody keeps any more, for the last time. A server that does not hear of it lets the
/// hold end with the ttl of its last renewal; the others decide. If a majority has lost it, the rest of the
/// servers keep it all the same: those that have forgotten it grant nothing yet. The claim is withdrawn from
/// each server at which it still waits: it would be granted later, to nobody.
void coordinator::renew_last(const tickets::renew& batch, on_reply done) {
  const store::hold& rests = batch.holds.front();
  forget(rests.owner);
  const auto w = std::make_shared<withdrawal>();
  w->request.hold = rests;
  w->request.last = rounds_.clocks().last();
  w->give_up = rounds_.now() + rests.ttl;
  const auto withdrawn = std::make_shared<std::vector<char>>(rounds_.servers(), false);
  rounds_.ask_all(
      batch,
      [this, w, withdrawn, decide = renewal_of(batch.holds, nullptr)](const outcomes& heard, bool is_last) {
        auto decided = decide(heard, is_last);
        for (std::size_t i = 0; i < heard.size(); ++i) {
          const auto* const k = reply_in<tickets::kept>(heard[i]);
          const bool is_missing = k != nullptr && k->unsure.empty() && !k->each.front();
          if (is_missing && !std::exchange(withdrawn->at(i), true)) withdraw_at(i, w, first_pause);
        }
        return decided;
      },
      std::move(done));
}

/// What a majority says of a renewal. \param at_server called once for each hold and each server that has
/// answered, also behind the end of the round, if the hold has a majority or the server's answer is no vote;
/// may be null.
rounds::decision coordinator::renewal_of(
    std::vector<store::hold> holds,
    std::function<void(const owner_id&, std::size_t server, bool has_it)> at_server) const {
  // By server and hold, as a late answer may complete the majority of a hold after others are done.
  const auto seen = std::make_shared<std::vector<char>>(rounds_.servers() * holds.size(), false);
  return [this, holds = std::move(holds), at_server = std::move(at_server), seen](
             const outcomes& all, bool is_last) -> std::optional<outcome> {
    tickets::kept answer;
    for (std::size_t h = 0; h < holds.size(); ++h) {
      std::size_t yes = 0;
      std::size_t no = 0;
      for (std::size_t i = 0; i < all.size(); ++i) {
        const auto* const k = reply_in<tickets::kept>(all[i]);
        if (k == nullptr || std::find(k->unsure.begin(), k->unsure.end(), h) != k->unsure.end()) continue;
        no += k->each.at(h) ? 0 : 1;
        yes += k->each.at(h) && counts(holds[h].owner, i) ? 1 : 0;
      }
      answer.each.push_back(yes >= rounds_.majority());
      if (!answer.each.back() && no <= all.size() - rounds_.majority()) answer.unsure.push_back(h);
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto* const k = reply_in<tickets::kept>(all[i]);
      if (!at_server || k == nullptr) continue;
      for (std::size_t h = 0; h < holds.size(); ++h) {
        const bool has_it = k->each.at(h);
        const bool is_told = answer.each[h] || (has_it && !counts(holds[h].owner, i));
        if (is_told && !std::exchange(seen->at(i * holds.size() + h), true))
          at_server(holds[h].owner, i, has_it);
      }
    }
    if (is_last && rounds_.has_failed(all)) return rounds_.too_few(all);
    if (!is_last && !answer.unsure.empty()) return std::nullopt;
    return tickets::reply{std::move(answer)};
  };
}

/// Whether a server that has renewed a hold of the owner has renewed a vote for its claim.
bool coordinator::counts(const owner_id& owner, std::size_t server) const {
  const claim_ptr c = find(owner);
  return !c || c->machine.counts_at(server);
}

/// A server that does not have a hold is claimed, so that the hold survives the loss of another one. So is
/// one that has something of the owner that is no vote for this claim. The answer says whether it is one: a
/// former claim, whose withdrawal is still on its way, is replaced; and a yield that was not answered goes
/// first. Without that answer, what comes late would take the vote away.
void coordinator::claim_at_missing(const owner_id& owner, std::size_t server, bool has_it) {
  const claim_ptr c = find(owner);
  if (!c || !c->machine.holds()) return;
  if (has_it && c->machine.counts_at(server))
    return carry_out(c, c->machine.tell_token(rounds_.now(), server));
  // A notification of an end by force that was read together with the answer is heard behind it: the hold
  // would be made again behind that. A false notification costs a spare vote for a while.
  rounds_.soon([this, owner, server] {
    const claim_ptr now = find(owner);
    if (now && now->machine.holds() && rounds_.now() >= now->revoked_until)
      carry_out(now, now->machine.claim_at_missing(rounds_.now(), server));
  });
}

/// A release goes to all servers, and is repeated at each until it has confirmed it, or the ttl has ended the
/// claim there. It names the largest number that was drawn: the owner may claim again while the release is
/// still on its way.
/// \param was_held a holder of another library may have ended a hold of ours, and no claim that waits.
void coordinator::end(store::hold h, bool was_held, on_reply done) {
  bool met_foreign = false;
  if (const claim_ptr c = find(h.owner)) {
    if (h.ttl == duration{}) h.ttl = c->machine.hold().ttl;
    met_foreign = was_held && c->machine.has_met_foreign();
    forget(h.owner);
  }
  const time_point give_up = rounds_.now() + h.ttl;
  const auto w = std::make_shared<const withdrawal>(
      withdrawal{{std::move(h), rounds_.clocks().last(), met_foreign}, give_up});
  rounds_.ask_all(
      w->request,
      [this](const outcomes& heard, bool is_last) -> std::optional<outcome> {
        const std::size_t ended = count_of<tickets::done>(heard);
        if (ended + count_of<tickets::nothing>(heard) >= rounds_.majority())
          return ended != 0 ? tickets::reply{tickets::done{}} : tickets::reply{tickets::nothing{}};
        if (is_last || rounds_.has_failed(heard)) return rounds_.too_few(heard, is_last);
        return std::nullopt;
      },
      std::move(done), [this, w](std::size_t server) { withdraw_again(server, w, first_pause); });
}

/// A claim that its owner has made again since ends the former one on every server to which it comes, and is
/// withdrawn itself.
void coordinator::withdraw_at(std::size_t server, const withdrawal_ptr& w, duration pause) {
  if (claims_.contains(w->request.hold.owner)) return;
  rounds_.send_to(server, w->request, [this, server, w, pause](const outcome& o) {
    if (std::holds_alternative<store::request_error>(o)) withdraw_again(server, w, pause);
  });
}

/// At a server that has not confirmed it. Ever more rarely: one that is dead costs little.
void coordinator::withdraw_again(std::size_t server, const withdrawal_ptr& w, duration pause) {
  if (rounds_.now() + pause > w->give_up) return;
  rounds_.after(
      pause, [this, server, w, next = std::min(2 * pause, longest_pause)] { withdraw_at(server, w, next); });
}

/// Changes a hold on a majority.
void coordinator::change(const request& r, on_reply done) {
  rounds_.ask_all(
      r,
      [this](const outcomes& all, bool is_last) -> std::optional<outcome> {
        if (count_of<tickets::done>(all) >= rounds_.majority()) return tickets::reply{tickets::done{}};
        if (count_of<tickets::nothing>(all) > all.size() - rounds_.majority())
          return tickets::reply{tickets::nothing{}};
        if (is_last) return rounds_.too_few(all);
        return std::nullopt;
      },
      std::move(done));
}

// ---- names

/// Answers with a view of what a majority says, when all have answered that are not silent.
template <class Answer, class View>
void coordinator::view(const request& r, const View& view_of, on_reply done) {
  rounds_.ask_all(
      r,
      [this, view_of](const outcomes& all, bool is_last) -> std::optional<outcome> {
        if (!is_last && !rounds_.is_complete(all)) return std::nullopt;
        if (count_of<Answer>(all) < rounds_.majority()) return rounds_.too_few(all);
        std::vector<answer_of<Answer>> answers;
        for (std::size_t i = 0; i < all.size(); ++i) {
          answer_of<Answer> each{terms_.places[i], std::nullopt, "does not answer"};
          if (const auto* said = reply_in<Answer>(all[i])) {
            each = {terms_.places[i], *said, {}};
          } else if (const auto* failed = all[i] ? std::get_if<store::request_error>(&*all[i]) : nullptr) {
            each.problem = without_place(terms_.places[i], failed->reason.message);
          }
          answers.push_back(std::move(each));
        }
        return tickets::reply{view_of(answers)};
      },
      std::move(done));
}

void coordinator::inspect(const tickets::inspect& r, on_reply done) {
  view<std::optional<lock_state>>(
      r, [this, name = r.name](const state_answers& all) { return view_of(name, all, rounds_.majority()); },
      std::move(done));
}

/// Sends a request for each hold of the name with these tokens. \param foreign says that there is none, but
/// one of another library.
void coordinator::for_each_hold(const std::string& name, fencing_token first, fencing_token last,
                                request_for about, const char* foreign, on_reply done) {
  on_reply seen{done.request,
                [this, first, last, about = std::move(about), foreign, done = std::move(done)](outcome&& o) {
                  if (auto* const failed = std::get_if<store::request_error>(&o)) {
                    failed->maybe_executed = false;  // nothing was asked to change
                    return done(std::move(o));
                  }
                  const auto* const state = reply_in<std::optional<lock_state>>(o);
                  std::vector<ballots::request> requests;
                  bool is_foreign = false;
                  if (state != nullptr && *state) {
                    for (const claim_state& each : (*state)->holders) {
                      if (const auto owner = owner_id::from_hex(each.owner); !owner) {
                        is_foreign = true;
                      } else if (each.token >= first && each.token <= last) {
                        requests.push_back(about(*owner, each.token));
                      }
                    }
                  }
                  if (requests.empty() && is_foreign)
                    return done(store::request_error{{errc::wrong_type, foreign}});
                  send_all(requests, done);
                }};
  inspect({name, 0}, std::move(seen));
}

void coordinator::send_all(const std::vector<ballots::request>& requests, const on_reply& done) {
  if (requests.empty()) return done(tickets::reply{tickets::count{0}});
  struct ends {
    std::size_t due = 0;
    std::size_t ended = 0;
    std::optional<outcome> problem;
  };
  const auto all = std::make_shared<ends>();
  all->due = requests.size();
  for (const ballots::request& each : requests) {
    rounds_.ask_all(
        each,
        [this](const outcomes& heard, bool is_last) -> std::optional<outcome> {
          if (!is_last && !rounds_.is_complete(heard)) return std::nullopt;
          if (count_of<tickets::count>(heard) < rounds_.majority()) return rounds_.too_few(heard);
          const bool was_there = std::any_of(heard.begin(), heard.end(), [](const auto& o) {
            const auto* const ended = reply_in<tickets::count>(o);
            return ended != nullptr && ended->value != 0;
          });
          return tickets::reply{tickets::count{was_there ? std::size_t{1} : 0}};
        },
        [all, done](const outcome& o) {
          if (std::holds_alternative<store::request_error>(o)) all->problem = o;
          if (const auto* ended = reply_in<tickets::count>(o)) all->ended += ended->value;
          if (--all->due != 0) return;
          done(all->problem ? *all->problem : outcome{tickets::reply{tickets::count{all->ended}}});
        });
  }
}

}  // namespace holdfast::quorum
