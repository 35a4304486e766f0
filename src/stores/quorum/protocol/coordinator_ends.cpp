// How claims end: a release goes to all servers, until each has confirmed it.

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "stores/quorum/protocol/coordinator_parts.hpp"

namespace holdfast::quorum {

using tickets::request;

namespace {

using namespace std::chrono_literals;

constexpr duration farewell_again = 200ms;  // after a release that failed

}  // namespace

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
    send_to(i, r, [this, i, f, all, decide, alive = alive_](const outcome& o) {
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
    send_to(server, f->withdrawal, [this, f, server, alive](const outcome& o) {
      if (!*alive) return;
      f->confirmed[server] = std::holds_alternative<tickets::reply>(o);
      if (!f->confirmed[server]) say_farewell(f, server);
    });
  });
}

}  // namespace holdfast::quorum
