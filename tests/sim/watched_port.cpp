#include "sim/watched_port.hpp"

#include <chrono>
#include <utility>

namespace holdfast::sim {

using namespace std::chrono_literals;

void watched_port::acquire(store::claim what, store::handler<store::acquired> done) {
  const owner_id owner = what.owner;
  around_.account.asks(owner, host_);
  port_shell::acquire(std::move(what), [this, owner, done = std::move(done)](store::acquired result) {
    around_.account.asks_no_longer(owner);
    if (!std::holds_alternative<store::granted>(result)) require_gone(owner);
    if (std::holds_alternative<store::refused>(result) && !around_.account.has_turned_away(owner)) {
      around_.in.violated("told that others hold, which the store has not said: " + owner.hex());
    }
    done(std::move(result));
  });
}

void watched_port::cancel(const owner_id& owner) {
  around_.account.asks_no_longer(owner);
  port_shell::cancel(owner);
  require_gone(owner);
}

void watched_port::renew(std::vector<store::hold> holds, store::handler<store::renewals> done) {
  port_shell::renew(std::move(holds), [this, done = std::move(done)](store::renewals each) {
    done(std::move(each));
    around_.sees.renewed(host_);
  });
}

void watched_port::release(store::hold what, store::time_point give_up,
                           store::handler<store::released> done) {
  const owner_id owner = what.owner;
  port_shell::release(std::move(what), give_up, std::move(done));
  require_gone(owner);
}

/// What was given up is withdrawn: where nothing hinders it, with the next try.
void watched_port::require_gone(const owner_id& owner) {
  constexpr auto next_try = 1s + 600ms;
  around_.in.after(next_try, [a = &around_, at = &host_, life = host_.life(), since = around_.in.now, owner] {
    if (at->life() != life || !at->calm_since(since) || !a->server.calm_since(since)) return;
    if (a->account.answers_for(owner)) a->in.violated("given up, and still at the store: " + owner.hex());
  });
}

void watched_link::send(tickets::request what, on_reply done) {
  if (what.what == tickets::task::release) given_back_.insert(what.owner);
  for (const store::hold& h : what.batch) {
    if (given_back_.contains(h.owner)) in_.violated("a renewal of what was given back: " + h.name);
  }
  link_shell::send(std::move(what), std::move(done));
}

}  // namespace holdfast::sim
