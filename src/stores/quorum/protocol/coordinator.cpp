#include "stores/quorum/protocol/coordinator.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "stores/quorum/protocol/coordinator_parts.hpp"

namespace holdfast::quorum {

using tickets::request;
using tickets::task;

namespace {

/// Tests name no places.
std::vector<std::string> with_size(std::vector<std::string> places, std::size_t size) {
  places.resize(size);
  return places;
}

}  // namespace

coordinator::coordinator(store::scheduler& on, const settings& of, uses link)
    : scheduler_{on},
      settings_{of},
      uses_{std::move(link)},
      places_{of.servers},
      set_{with_size(of.places, of.servers)},
      is_acquainted_{!uses_.join},
      answered_(of.servers),
      is_silent_(of.servers),
      alive_{std::make_shared<bool>(true)} {}

coordinator::~coordinator() { stop(); }

void coordinator::stop() {
  *alive_ = false;
  scheduler_.cancel(std::exchange(time_limit_, 0));
  scheduler_.cancel(std::exchange(meeting_, 0));
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
    case task::renew: return r.is_last ? rest(r, std::move(done)) : renew(r, std::move(done));
    case task::release:
    case task::withdraw: return release(std::move(r), std::move(done));
    case task::downgrade: return downgrade(r, std::move(done));
    case task::annotate: return annotate(std::move(r), std::move(done));
    case task::force_release:
    case task::request_release: return for_each_hold(r, std::move(done));
    case task::inspect: return inspect(r, std::move(done));
    case task::list: return list(std::move(r), std::move(done));
  }
}

/// With the server's place in its errors. Each answer tells the server's clock.
void coordinator::send_to(std::size_t server, request r, on_reply done) {
  const time_point sent = scheduler_.now();
  const auto note = [this, server, sent](outcome& o) {
    is_silent_.at(server) = false;
    if (auto* const failed = std::get_if<store::request_error>(&o))
      return name_place(failed->reason, settings_.places, server);
    answered_.at(server) = true;
    const auto& reply = std::get<tickets::reply>(o);
    const auto* const at = std::get_if<tickets::place>(&reply);
    const auto* const none = std::get_if<tickets::refused>(&reply);
    if (at != nullptr && at->vote) places_.hear(server, at->vote->clock, sent, scheduler_.now());
    if (none != nullptr && none->vote) places_.hear(server, none->vote->clock, sent, scheduler_.now());
  };
  uses_.send(server, std::move(r), [note, done = std::move(done), alive = alive_](outcome o) {
    if (*alive) note(o);
    done(std::move(o));
  });
}

bool coordinator::is_known() const {
  return static_cast<std::size_t>(std::count(answered_.begin(), answered_.end(), true)) >= majority();
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
    if (n.token && n.token < c->machine.claim().token) return;  // a former claim of that owner
    c->revoked_until = scheduler_.now() + c->machine.claim().ttl;
    if (!c->machine.holds()) carry_out(c, c->machine.doubt(scheduler_.now(), server));
    store::notification revoked = n;
    revoked.token = c->machine.token();
    return uses_.notify(revoked);
  }
  if (n.kind == store::notification_kind::release_requested) {
    store::notification requested = n;
    requested.token = c->machine.token();
    return uses_.notify(requested);
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
                       "three claims can each have a majority; use one store (redis://)"}});
  }
  if (const auto found = claims_.find(r.owner); found != claims_.end()) {
    const claim_ptr c = found->second;
    c->done = std::move(done);
    if (const auto refusal = set_.conflict(); refusal && !c->machine.holds()) return refuse(c, *refusal);
    return carry_out(c, c->machine.ask(scheduler_.now()));
  }
  if (r.kind != task::acquire) return answer(std::move(done), tickets::reply{tickets::nothing{}});
  if (auto refusal = set_.conflict())
    return answer(std::move(done), store::request_error{std::move(*refusal)});
  if (places_.is_known() && is_acquainted_) return begin_claim(std::move(r), std::move(done));
  parked_.emplace_back(std::move(r), std::move(done));
  if (places_.is_known())
    get_acquainted();
  else
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
  const duration limit = is_known() ? settings_.silence : std::max(settings_.silence, settings_.connecting);
  time_limit_ = scheduler_.at(scheduler_.now() + limit, [this] {
    time_limit_ = 0;
    go_on_without_time();
  });
  for (std::size_t i = 0; i < settings_.servers; ++i) {
    request r = parked_.front().first;
    r.step = tickets::ballot_step::claim;
    r.token = {};
    r.wait = false;
    send_to(i, std::move(r), [this, i, alive = alive_](const outcome& o) {
      if (*alive) hear_time(i, o);
    });
  }
}

void coordinator::hear_time(std::size_t server, const outcome& o) {
  if (times_due_ != 0 && !std::exchange(times_.at(server), o)) --times_due_;
  if (places_.is_known()) {
    scheduler_.cancel(std::exchange(time_limit_, 0));
    times_due_ = 0;
    times_.clear();
    return get_acquainted();
  }
  const bool is_in_vain = failures_in(times_) > settings_.servers - majority();
  if (times_due_ == 0 || is_in_vain) go_on_without_time();
}

/// Too few servers answer.
void coordinator::go_on_without_time() {
  const bool is_last = times_due_ == 0 || time_limit_ == 0;
  scheduler_.cancel(std::exchange(time_limit_, 0));
  times_due_ = 0;
  const outcomes heard = std::exchange(times_, {});
  for (auto& [r, done] : std::exchange(parked_, {})) {
    auto problem = too_few(heard, is_last);
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
  if (s.should_look) uses_.notify({owner, store::notification_kind::look, c->machine.claim().token});
}

void coordinator::send_order(const claim_ptr& c, contender::order o) {
  const std::size_t server = o.server;
  send_to(server, std::move(o.request), [this, c, server, alive = alive_](const outcome& came) {
    if (*alive && !c->is_over) carry_out(c, c->machine.on_reply(scheduler_.now(), server, came));
  });
}

}  // namespace holdfast::quorum
