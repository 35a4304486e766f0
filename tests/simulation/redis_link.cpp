// SPDX-License-Identifier: Apache-2.0
#include "simulation/redis_link.hpp"

#include <chrono>
#include <utility>

#include "stores/redis/protocol/replies.hpp"

namespace holdfast::sim {

namespace {

constexpr auto ask_every = std::chrono::seconds{1};  // as link/redis does

}  // namespace

redis_link::redis_link(switchboard& to, scene& in, host& from, line& over, duration reply_limit)
    : line_link{in, from, over, reply_limit}, to_{to} {
  if (to.kills_former) {
    over_.kill_former();
  } else {
    over_.let_requests_straggle();
  }
}

redis_link::~redis_link() { to_.gone(*this); }

void redis_link::begin_connection() {
  is_asking_ = false;
  behind_question_.clear();
  asked_at_ = from_.now();
  to_.connected(*this);
}

void redis_link::hear_guard(const redis::value& reply) {
  const auto refusal = guard_.hear(reply, to_.speech, from_.now());
  if (!refusal) return;
  if (refusal->retryable) return over_.cut();
  in_.violated("the server does not say whether it grants: " + reply.text);
}

/// As link/redis: nothing else is sent before the answer.
void redis_link::ask_again() {
  is_asking_ = true;
  asked_at_ = from_.now();
  over_.to_server([to = &to_, client = address(), way = &over_, link = this, c = over_.connection()] {
    auto reply = to->ask_for_guard(client, c);
    if (!reply) return;
    way->to_client(c, [link, reply = std::make_shared<redis::value>(std::move(*reply))] {
      link->is_asking_ = false;
      link->hear_guard(*reply);
      for (const auto& p : std::exchange(link->behind_question_, {})) link->dispatch(p);
    });
  });
}

std::shared_ptr<line_link::parcel> redis_link::pack(tickets::request request) {
  return std::make_shared<talk>(request, to_, address());
}

void redis_link::dispatch(std::shared_ptr<parcel> p) {
  const bool is_due = to_.asks_for_guard() && to_.asks_again && from_.now() >= asked_at_ + ask_every;
  if (!is_asking_ && is_due) ask_again();
  if (is_asking_) return behind_question_.push_back(std::move(p));
  say(p);
}

void redis_link::say(const std::shared_ptr<parcel>& p) {
  auto& t = static_cast<talk&>(*p);
  t.said.clear();
  t.said.reserve(512);
  const auto pause = guard_.pause_at(from_.now());
  t.paused = pause ? duration{pause->left} : duration{0};
  static_cast<void>(t.request_fsm.say(t.said, pause));
  const std::uint32_t c = over_.connection();
  over_.to_server(arrival{this, &to_, &in_, &over_, p, c});
}

void redis_link::arrival::operator()() {
  auto& t = static_cast<talk&>(*p);
  if (const instant free = to->busy_until(t.from, connection); free > in->now) {
    in->agenda.add(free, [s = &to->where(), a = std::move(*this)]() mutable { s->enter(std::move(a)); });
    return;
  }
  std::vector<redis::value> replies;
  to->begin_carrying_out(t.request);
  const auto ready = to->carry_out(t.said, t.from, connection, replies);
  if (!ready) return;
  if (!replies.empty()) {
    account(replies.front());
    t.is_demoted = redis::is_from_replica(replies.front());
  }
  // The client will read the same replies, later. To know already what it will make of them shows what it
  // will do.
  t.heard = t.request_fsm.hear(std::move(replies));
  // Carried out, and the client will not know: the worst moment for a connection to break.
  if (to->careless && in->chance.one_in(100)) way->cut();
  if (*ready == in->now) return answer();
  in->agenda.add(*ready, [s = &to->where(), a = std::move(*this)]() mutable {
    s->enter([last = std::move(a)] { last.answer(); });
  });
}

/// What was carried out at this moment.
void redis_link::arrival::account(const redis::value& reply) const {
  auto& t = static_cast<talk&>(*p);
  if (reply.is(redis::value::kind::error) && reply.text.starts_with("NOSCRIPT")) return;
  if (!std::exchange(t.is_granted, true)) to->account_for(t.request, p->given_up, reply, t.paused);
}

void redis_link::arrival::answer() const {
  way->to_client(connection, [link = link, p = p, c = connection] {
    auto& t = static_cast<talk&>(*p);
    if (!t.heard) t.heard = t.request_fsm.give_up(link->from_.now());
    if (t.heard) {
      if (auto* const at = tickets::reply_in<tickets::place>(*t.heard))
        at->position = {number_of(c), link->next_message()};
      link->deliver(p, std::move(*t.heard));
    } else if (!p->given_up) {
      link->dispatch(p);
    }
    if (t.is_demoted) link->over_.cut();
  });
}

/// In order with the replies as a rule, and lost when the connection is.
void redis_link::push(store::notification n) {
  if (guard_.pause_at(from_.now())) n.position = {};  // as link/redis
  if (to_.careless && in_.chance.one_in(8)) return receive(n, true);
  over_.to_client(over_.connection(),
                  [this, sent = std::make_shared<const store::notification>(n)] { deliver(*sent); });
}

}  // namespace holdfast::sim
