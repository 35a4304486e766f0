// How claims end: a release goes to all servers, until each has confirmed it. It names the largest number
// that was drawn: the owner may claim again while the release is still on its way.

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "stores/quorum/protocol/coordinator_parts.hpp"

namespace holdfast::quorum {

using tickets::request;

namespace {

using namespace std::chrono_literals;

constexpr duration first_pause = 200ms;  // after a release that failed
constexpr duration longest_pause = 800ms;

}  // namespace

void coordinator::release(request r, on_reply done) {
  if (const auto found = claims_.find(r.owner); found != claims_.end()) {
    const claim_ptr c = found->second;
    if (r.ttl == duration{}) r.ttl = c->machine.claim().ttl;
    r.met_foreign = c->machine.has_met_foreign() && r.kind == tickets::task::release;
    forget(r.owner);
  }
  r.metadata.reset();
  r.step = tickets::ballot_step::none;
  r.last = places_.last();
  const auto f = std::make_shared<farewell>(farewell{r, scheduler_.now() + r.ttl});
  const auto d = begin_delivery();
  ask_all(
      r,
      [this, d](const outcomes& heard, bool is_last) -> std::optional<outcome> {
        if (is_last || is_complete(heard)) finish(*d);
        const std::size_t ended = count_of<tickets::done>(heard);
        const std::size_t absent = count_of<tickets::nothing>(heard);
        if (ended + absent >= majority()) {
          tickets::reply answer = tickets::nothing{};
          if (ended != 0) answer = tickets::done{};
          return answer;
        }
        if (is_last || failures_in(heard) > settings_.servers - majority())
          return outcome{too_few(heard, is_last)};
        return std::nullopt;
      },
      std::move(done), [this, f](std::size_t server) { release_again(f, server, first_pause); });
}

/// A hold that nobody keeps any more, until it ends by itself. A server that does not hear of it lets the
/// hold end with the ttl of its last renewal; the others decide. Where a majority has lost it, the rest of
/// the servers keep it all the same: those that have forgotten it grant nothing yet.
void coordinator::rest(const request& last, on_reply done) {
  const store::hold& hold = last.batch.front();
  forget(hold.owner);
  request r;
  r.kind = tickets::task::withdraw;
  r.name = hold.name;
  r.owner = hold.owner;
  r.ttl = hold.ttl;
  r.last = places_.last();
  const auto f = std::make_shared<farewell>(farewell{r, scheduler_.now() + r.ttl});
  const auto d = begin_delivery();
  const auto withdrawn = std::make_shared<std::vector<char>>(settings_.servers, false);
  ask_all(
      last,
      [this, f, d, withdrawn, decide = renewal_of(last.batch, nullptr)](const outcomes& heard, bool is_last) {
        auto decided = decide(heard, is_last);
        for (std::size_t i = 0; i < heard.size(); ++i) {
          // Where the claim still waits, it would be granted later, to nobody.
          const auto* const k = reply_in<tickets::kept>(heard[i]);
          const bool is_missing = k != nullptr && k->unsure.empty() && !k->each.front();
          if (is_missing && !std::exchange(withdrawn->at(i), true)) withdraw_at(i, f);
        }
        if (is_last || is_complete(heard)) finish(*d);
        return decided;
      },
      std::move(done));
}

/// The owner has claimed again. That claim ends the former one wherever it comes, and is withdrawn itself.
bool coordinator::has_claimed_again(const farewell& f) const { return claims_.contains(f.withdrawal.owner); }

void coordinator::withdraw_at(std::size_t server, const std::shared_ptr<farewell>& f) {
  if (has_claimed_again(*f)) return;
  const auto d = begin_delivery();
  send_to(server, f->withdrawal, [this, server, f, d, alive = alive_](const outcome& o) {
    if (!*alive) return;
    finish(*d);
    if (std::holds_alternative<store::request_error>(o)) release_again(f, server, first_pause);
  });
}

/// Nothing that a server still says of the claim counts.
void coordinator::forget(const owner_id& owner) {
  const auto found = claims_.find(owner);
  if (found == claims_.end()) return;
  found->second->is_over = true;
  scheduler_.cancel(std::exchange(found->second->timer, 0));
  claims_.erase(found);
}

std::shared_ptr<coordinator::delivery> coordinator::begin_delivery() {
  const auto d = std::make_shared<delivery>();
  ++deliveries_;
  d->limit = scheduler_.at(scheduler_.now() + settings_.silence, [this, d, alive = alive_] {
    if (!*alive) return;
    d->limit = 0;
    finish(*d);
  });
  return d;
}

void coordinator::finish(delivery& of) {
  if (std::exchange(of.is_over, true)) return;
  scheduler_.cancel(std::exchange(of.limit, 0));
  if (--deliveries_ == 0 && delivered_) std::exchange(delivered_, nullptr)();
}

void coordinator::when_delivered(std::function<void()> action) {
  if (deliveries_ == 0) return action();
  delivered_ = std::move(action);
}

/// To a server that has not confirmed it. Ever more rarely: one that is dead costs little.
void coordinator::release_again(const std::shared_ptr<farewell>& f, std::size_t server, duration pause) {
  if (scheduler_.now() + pause > f->give_up) return;
  scheduler_.at(scheduler_.now() + pause, [this, f, server, pause, alive = alive_] {
    if (!*alive || has_claimed_again(*f)) return;
    send_to(server, f->withdrawal, [this, f, server, pause, alive](const outcome& o) {
      if (*alive && std::holds_alternative<store::request_error>(o))
        release_again(f, server, std::min(2 * pause, longest_pause));
    });
  });
}

}  // namespace holdfast::quorum
