#include "stores/quorum/protocol/coordinator.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "stores/quorum/protocol/shared_view.hpp"

namespace holdfast::quorum {

using tickets::request;
using tickets::task;

namespace {

using namespace std::chrono_literals;

constexpr duration farewell_again = 200ms;  // after a release that failed
constexpr std::size_t most_problems = 3;    // in a message

const tickets::reply* reply_in(const std::optional<tickets::link::outcome>& o) {
  return o ? std::get_if<tickets::reply>(&*o) : nullptr;
}

template <class Reply>
const Reply* reply_in(const std::optional<tickets::link::outcome>& o) {
  const tickets::reply* const any = reply_in(o);
  return any == nullptr ? nullptr : std::get_if<Reply>(any);
}

template <class Reply>
std::size_t count_of(const std::vector<std::optional<tickets::link::outcome>>& all) {
  return static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [](const auto& o) { return reply_in<Reply>(o) != nullptr; }));
}

std::size_t failures_in(const std::vector<std::optional<tickets::link::outcome>>& all) {
  return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](const auto& o) {
    return o && std::holds_alternative<store::request_error>(*o);
  }));
}

}  // namespace

/// A claim and its machine.
struct coordinator::claimed {
  claimed(request r, const settings& of) : machine{std::move(r), of.servers, of.silence} {}
  contender machine;
  on_reply done;  // of the caller's request; null: none is under way
  store::scheduler::timer timer = 0;
  bool is_over = false;
};

/// A request to all servers.
struct coordinator::round {
  outcomes all;
  decision decide;
  on_reply done;  // null: answered
  store::scheduler::timer limit = 0;
  std::size_t due = 0;
};

/// A claim that ends, on every server.
struct coordinator::farewell {
  request withdrawal;
  time_point give_up;  // its ttl has ended it by then
  std::vector<bool> confirmed;
};

coordinator::coordinator(store::scheduler& on, settings of, uses link)
    : scheduler_{on},
      settings_{of},
      uses_{std::move(link)},
      places_{of.servers},
      alive_{std::make_shared<bool>(true)} {}

coordinator::~coordinator() { stop(); }

void coordinator::stop() {
  *alive_ = false;
  scheduler_.cancel(std::exchange(time_limit_, 0));
  for (const auto& [owner, each] : claims_) scheduler_.cancel(std::exchange(each->timer, 0));
}

void coordinator::send(request r, on_reply done) {
  const bool outer = std::exchange(is_sending_, true);
  dispatch(std::move(r), std::move(done));
  is_sending_ = outer;
}

void coordinator::dispatch(request r, on_reply done) {
  switch (r.kind) {
    case task::acquire:
    case task::find:
    case task::look: return claim(std::move(r), std::move(done));
    case task::renew: return renew(std::move(r), std::move(done));
    case task::release:
    case task::withdraw: return release(std::move(r), std::move(done));
    case task::downgrade: return downgrade(std::move(r), std::move(done));
    case task::force_release: return force(std::move(r), std::move(done));
    case task::inspect: return inspect(std::move(r), std::move(done));
    case task::list: return list(std::move(r), std::move(done));
  }
}

/// Never within the call that asks.
void coordinator::answer(on_reply done, outcome o) {
  if (!is_sending_) return done(std::move(o));
  uses_.soon([done = std::move(done), o = std::move(o), alive = alive_] {
    if (*alive) done(o);
  });
}

void coordinator::hear(std::size_t server, const store::notification& n) {
  const auto found = claims_.find(n.owner);
  if (found == claims_.end()) return;
  const claim_ptr c = found->second;
  if (n.kind == store::notification_kind::revoked) {
    store::notification revoked = n;
    revoked.token = c->machine.token();
    return uses_.notify(revoked);
  }
  if (!c->machine.holds()) carry_out(c, c->machine.hint(scheduler_.now(), server));
}

// ---- claims

void coordinator::claim(request r, on_reply done) {
  if (r.kind == task::acquire && r.capacity != store::full_capacity) {
    return answer(std::move(done),
                  store::request_error{
                      {errc::invalid_argument,
                       "a majority of independent servers cannot count permits: with 3 servers and 2 permits "
                       "three claims can each have a majority; use a semaphore on one store (redis://)"}});
  }
  if (const auto found = claims_.find(r.owner); found != claims_.end()) {
    const claim_ptr c = found->second;
    c->done = std::move(done);
    return carry_out(c, c->machine.ask(scheduler_.now()));
  }
  if (r.kind != task::acquire) return answer(std::move(done), tickets::reply{tickets::nothing{}});
  if (places_.is_known()) return begin_claim(std::move(r), std::move(done));
  parked_.emplace_back(std::move(r), std::move(done));
  ask_for_time();
}

void coordinator::begin_claim(request r, on_reply done) {
  r.token = places_.next(scheduler_.now());
  const owner_id owner = r.owner;
  const auto c = std::make_shared<claimed>(std::move(r), settings_);
  c->done = std::move(done);
  claims_[owner] = c;
  carry_out(c, c->machine.ask(scheduler_.now()));
}

/// Of the servers' clocks, before the first claim.
void coordinator::ask_for_time() {
  if (times_due_ != 0) return;
  times_due_ = settings_.servers;
  times_.assign(settings_.servers, std::nullopt);
  time_limit_ = scheduler_.at(scheduler_.now() + settings_.silence, [this] { go_on_without_time(); });
  for (std::size_t i = 0; i < settings_.servers; ++i) {
    request r = parked_.front().first;
    r.step = tickets::ballot_step::claim;
    r.token = {};
    r.wait = false;
    uses_.send(i, std::move(r), [this, i, sent = scheduler_.now(), alive = alive_](const outcome& o) {
      if (*alive) hear_time(i, sent, o);
    });
  }
}

void coordinator::hear_time(std::size_t server, time_point sent, const outcome& o) {
  if (times_due_ != 0 && !std::exchange(times_.at(server), o)) --times_due_;
  const auto* const reply = std::get_if<tickets::reply>(&o);
  const auto* const said = reply == nullptr ? nullptr : std::get_if<tickets::refused>(reply);
  if (said != nullptr && said->vote) places_.hear(server, said->vote->clock, sent, scheduler_.now());
  if (!places_.is_known() && times_due_ != 0) return;
  go_on_without_time();
}

/// With the clocks of a majority if they are known; else too few servers answer.
void coordinator::go_on_without_time() {
  scheduler_.cancel(std::exchange(time_limit_, 0));
  times_due_ = 0;
  const outcomes heard = std::exchange(times_, {});
  for (auto& [r, done] : std::exchange(parked_, {})) {
    if (places_.is_known()) {
      begin_claim(std::move(r), std::move(done));
      continue;
    }
    auto problem = std::get<store::request_error>(too_few(heard));
    problem.maybe_executed = false;  // nothing was claimed
    answer(std::move(done), std::move(problem));
  }
}

void coordinator::carry_out(const claim_ptr& c, contender::step s) {
  if (c->is_over) return;
  const owner_id owner = c->machine.claim().owner;
  for (contender::order& each : s.send) send_order(c, std::move(each));
  scheduler_.cancel(std::exchange(c->timer, 0));
  if (s.wake_at) {
    c->timer = scheduler_.at(*s.wake_at, [this, c] {
      c->timer = 0;
      carry_out(c, c->machine.wake(scheduler_.now()));
    });
  }
  if (s.is_over) {
    request r = c->machine.claim();
    r.kind = task::withdraw;
    release(std::move(r), nullptr);
  }
  if (s.answer && c->done) return answer(std::exchange(c->done, nullptr), std::move(*s.answer));
  if (s.is_won) uses_.notify({owner, store::notification_kind::granted, c->machine.claim().token});
}

void coordinator::send_order(const claim_ptr& c, contender::order o) {
  const std::size_t server = o.server;
  uses_.send(server, std::move(o.request),
             [this, c, server, sent = scheduler_.now(), alive = alive_](const outcome& came) {
               if (!*alive || c->is_over) return;
               if (const auto* reply = std::get_if<tickets::reply>(&came)) {
                 const auto* const at = std::get_if<tickets::place>(reply);
                 const auto* const none = std::get_if<tickets::refused>(reply);
                 if (at != nullptr && at->vote) places_.hear(server, at->vote->clock, sent, scheduler_.now());
                 if (none != nullptr && none->vote)
                   places_.hear(server, none->vote->clock, sent, scheduler_.now());
               }
               carry_out(c, c->machine.hear(scheduler_.now(), server, came));
             });
}

// ---- the ends of claims

void coordinator::release(request r, on_reply done) {
  if (const auto found = claims_.find(r.owner); found != claims_.end()) {
    const claim_ptr c = found->second;
    c->is_over = true;
    scheduler_.cancel(std::exchange(c->timer, 0));
    if (r.ttl == duration{}) r.ttl = c->machine.claim().ttl;
    claims_.erase(found);
  }
  r.metadata.reset();
  r.step = tickets::ballot_step::none;
  const auto f = std::make_shared<farewell>();
  f->withdrawal = r;
  f->give_up = scheduler_.now() + r.ttl;
  f->confirmed.resize(settings_.servers);
  const auto all = std::make_shared<round>();
  all->all.resize(settings_.servers);
  all->due = settings_.servers;
  all->done = std::move(done);
  all->decide = [this](const outcomes& heard, bool is_last) -> std::optional<outcome> {
    const std::size_t ended = count_of<tickets::done>(heard);
    const std::size_t absent = count_of<tickets::nothing>(heard);
    if (ended + absent >= majority()) {
      return ended != 0 ? outcome{tickets::reply{tickets::done{}}}
                        : outcome{tickets::reply{tickets::nothing{}}};
    }
    if (is_last || failures_in(heard) > settings_.servers - majority()) return too_few(heard);
    return std::nullopt;
  };
  const auto decide = [this, all](bool is_last) {
    if (!all->done) return;
    if (auto o = all->decide(all->all, is_last)) {
      scheduler_.cancel(std::exchange(all->limit, 0));
      answer(std::exchange(all->done, nullptr), std::move(*o));
    }
  };
  if (all->done) {
    all->limit = scheduler_.at(scheduler_.now() + settings_.silence, [decide, all, alive = alive_] {
      all->limit = 0;
      if (*alive) decide(true);
    });
  }
  for (std::size_t i = 0; i < settings_.servers; ++i) {
    uses_.send(i, r, [this, i, f, all, decide, alive = alive_](const outcome& o) {
      if (!*alive) return;
      f->confirmed[i] = std::holds_alternative<tickets::reply>(o);
      all->all[i] = o;
      decide(false);
      if (!f->confirmed[i]) say_farewell(f, i);
    });
  }
}

/// Again to a server that has not confirmed it.
void coordinator::say_farewell(const std::shared_ptr<farewell>& f, std::size_t server) {
  if (scheduler_.now() + farewell_again > f->give_up) return;
  scheduler_.at(scheduler_.now() + farewell_again, [this, f, server, alive = alive_] {
    if (!*alive) return;
    uses_.send(server, f->withdrawal, [this, f, server, alive](const outcome& o) {
      if (!*alive) return;
      f->confirmed[server] = std::holds_alternative<tickets::reply>(o);
      if (!f->confirmed[server]) say_farewell(f, server);
    });
  });
}

// ---- what is asked of all servers

coordinator::outcome coordinator::too_few(const outcomes& all) const {
  store::request_error e{{errc::unavailable, ""}, true, true};
  std::string text;
  std::size_t missing = 0;
  std::size_t final_ones = 0;
  for (const auto& each : all) {
    const auto* const failed = each ? std::get_if<store::request_error>(&*each) : nullptr;
    if (each && failed == nullptr) continue;
    ++missing;
    if (failed == nullptr) continue;
    if (!failed->retryable && ++final_ones == 1) e.reason.code = failed->reason.code;
    if (missing <= most_problems) text += "; " + failed->reason.message;
  }
  if (final_ones > settings_.servers - majority()) {
    e.retryable = false;
  } else {
    e.reason.code = errc::unavailable;
  }
  e.reason.message = std::to_string(missing) + " of " + std::to_string(settings_.servers) +
                     " servers do not answer or refuse, and a majority is needed" + text;
  return e;
}

void coordinator::ask_all(const request& r, decision decide, on_reply done) {
  const auto all = std::make_shared<round>();
  all->all.resize(settings_.servers);
  all->decide = std::move(decide);
  all->done = std::move(done);
  all->due = settings_.servers;
  all->limit = scheduler_.at(scheduler_.now() + settings_.silence, [this, all, alive = alive_] {
    all->limit = 0;
    if (!*alive || !all->done) return;
    auto o = all->decide(all->all, true);
    answer(std::exchange(all->done, nullptr), o ? std::move(*o) : too_few(all->all));
  });
  for (std::size_t i = 0; i < settings_.servers; ++i) send_part(all, i, r);
}

void coordinator::send_part(const std::shared_ptr<round>& all, std::size_t server, request r) {
  const bool continues = r.kind == task::list;
  uses_.send(server, r, [this, all, server, continues, r, alive = alive_](const outcome& o) mutable {
    if (!*alive) return;
    if (const auto* part = std::get_if<tickets::reply>(&o); continues && part != nullptr && all->done) {
      if (const auto* next = std::get_if<tickets::more>(part)) {
        r.listed = next->listed;
        return send_part(all, server, std::move(r));
      }
    }
    all->all[server] = o;
    const bool is_last = --all->due == 0;
    auto decided = all->decide(all->all, is_last);
    if (!all->done) return;
    if (!decided && is_last) decided = too_few(all->all);
    if (!decided) return;
    scheduler_.cancel(std::exchange(all->limit, 0));
    answer(std::exchange(all->done, nullptr), std::move(*decided));
  });
}

/// A hold is kept if a majority has kept it, and lost if a majority cannot be reached any more. A server that
/// does not have it is claimed, so that the hold survives the loss of another one.
void coordinator::renew(request batch, on_reply done) {
  const auto holds = batch.batch;
  const auto spread = std::make_shared<std::vector<char>>(settings_.servers, false);  // done for that server
  ask_all(
      batch,
      [this, holds, spread](const outcomes& all, bool is_last) -> std::optional<outcome> {
        tickets::kept answer;
        const std::size_t spare = settings_.servers - majority();
        bool is_decided = true;
        for (std::size_t h = 0; h < holds.size(); ++h) {
          std::size_t yes = 0;
          std::size_t no = 0;
          for (const auto& each : all) {
            const auto* const k = reply_in<tickets::kept>(each);
            if (k == nullptr || std::find(k->unsure.begin(), k->unsure.end(), h) != k->unsure.end()) continue;
            ++(k->each.at(h) ? yes : no);
          }
          answer.each.push_back(yes >= majority());
          if (yes < majority() && no <= spare) {
            is_decided = false;
            answer.unsure.push_back(h);
          }
        }
        for (std::size_t i = 0; i < all.size(); ++i) {
          const auto* const k = reply_in<tickets::kept>(all[i]);
          if (k == nullptr || !is_decided || std::exchange(spread->at(i), true)) continue;
          for (std::size_t h = 0; h < holds.size(); ++h)
            if (answer.each[h] && !k->each.at(h)) claim_missing(holds[h].owner, i);
        }
        if (failures_in(all) > spare && is_last) return too_few(all);
        if (!is_decided && !is_last) return std::nullopt;
        return outcome{tickets::reply{std::move(answer)}};
      },
      std::move(done));
}

void coordinator::claim_missing(const owner_id& owner, std::size_t server) {
  const auto found = claims_.find(owner);
  if (found == claims_.end() || !found->second->machine.holds()) return;
  carry_out(found->second, found->second->machine.spread(scheduler_.now(), server));
}

void coordinator::downgrade(request r, on_reply done) {
  if (const auto found = claims_.find(r.owner); found != claims_.end()) found->second->machine.lower();
  ask_all(
      r,
      [this](const outcomes& all, bool is_last) -> std::optional<outcome> {
        if (count_of<tickets::done>(all) >= majority()) return outcome{tickets::reply{tickets::done{}}};
        if (count_of<tickets::nothing>(all) > settings_.servers - majority())
          return outcome{tickets::reply{tickets::nothing{}}};
        if (is_last) return too_few(all);
        return std::nullopt;
      },
      std::move(done));
}

void coordinator::inspect(request r, on_reply done) {
  const std::string name = r.name;
  ask_all(
      r,
      [this, name](const outcomes& all, bool is_last) -> std::optional<outcome> {
        std::vector<std::optional<lock_state>> views;
        for (const auto& each : all)
          if (const auto* state = reply_in<std::optional<lock_state>>(each)) views.push_back(*state);
        if (!is_last && views.size() + failures_in(all) < settings_.servers) return std::nullopt;
        if (views.size() < majority()) return too_few(all);
        return outcome{tickets::reply{view_of(name, views, majority())}};
      },
      std::move(done));
}

void coordinator::list(request r, on_reply done) {
  const bool idle = r.idle;
  r.listed.reset();
  ask_all(
      r,
      [this, idle](const outcomes& all, bool is_last) -> std::optional<outcome> {
        std::vector<std::vector<lock_summary>> listings;
        for (const auto& each : all)
          if (const auto* names = reply_in<std::vector<lock_summary>>(each)) listings.push_back(*names);
        if (!is_last) return std::nullopt;
        if (listings.size() < majority()) return too_few(all);
        return outcome{tickets::reply{view_of(listings, majority(), idle)}};
      },
      std::move(done));
}

/// By the owners of the holds: a server that has granted a claim may not know its final token.
void coordinator::force(request r, on_reply done) {
  request look;
  look.kind = task::inspect;
  look.name = r.name;
  inspect(std::move(look), [this, r, done = std::move(done)](const outcome& o) {
    const auto* const reply = std::get_if<tickets::reply>(&o);
    if (reply == nullptr) return done(o);
    const auto* const state = std::get_if<std::optional<lock_state>>(reply);
    std::vector<claim_state> holders;
    bool is_foreign = false;
    if (state != nullptr && *state) {
      for (const claim_state& each : (*state)->holders) {
        if (!owner_id::from_hex(each.owner)) {
          is_foreign = true;
        } else if (each.token >= r.token && each.token <= r.last) {
          holders.push_back(each);
        }
      }
    }
    if (holders.empty() && is_foreign) {
      return done(store::request_error{
          {errc::wrong_type,
           "a client of another library holds the lock, and Holdfast leaves its keys alone; "
           "delete them on the servers if no program works under that lock"}});
    }
    end_holds(r.name, holders, done);
  });
}

void coordinator::end_holds(const std::string& name, const std::vector<claim_state>& holders,
                            const on_reply& done) {
  if (holders.empty()) return done(tickets::reply{tickets::count{0}});
  struct ends {
    std::size_t due = 0;
    std::size_t ended = 0;
    std::optional<outcome> problem;
  };
  const auto all = std::make_shared<ends>();
  all->due = holders.size();
  for (const claim_state& each : holders) {
    request r;
    r.kind = task::force_release;
    r.step = tickets::ballot_step::end;
    r.name = name;
    r.owner = *owner_id::from_hex(each.owner);
    ask_all(
        r,
        [this](const outcomes& heard, bool is_last) -> std::optional<outcome> {
          if (!is_last && count_of<tickets::count>(heard) + failures_in(heard) < settings_.servers)
            return std::nullopt;
          if (count_of<tickets::count>(heard) < majority()) return too_few(heard);
          const bool was_there = std::any_of(heard.begin(), heard.end(), [](const auto& o) {
            const auto* const ended = reply_in<tickets::count>(o);
            return ended != nullptr && ended->value != 0;
          });
          return outcome{tickets::reply{tickets::count{was_there ? std::size_t{1} : 0}}};
        },
        [all, done](const outcome& o) {
          const auto* const reply = std::get_if<tickets::reply>(&o);
          if (reply == nullptr)
            all->problem = o;
          else if (const auto* ended = std::get_if<tickets::count>(reply))
            all->ended += ended->value;
          if (--all->due != 0) return;
          done(all->problem ? *all->problem : outcome{tickets::reply{tickets::count{all->ended}}});
        });
  }
}

}  // namespace holdfast::quorum
