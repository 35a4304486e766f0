// SPDX-License-Identifier: Apache-2.0
#include "simulation/foreign_client.hpp"

#include <chrono>

#include "base/owner_id.hpp"

namespace holdfast::sim {

using namespace std::chrono_literals;

namespace {

constexpr duration between_tries = 100ms;  // redis-py's
constexpr duration reply_limit = 1s;

}  // namespace

foreign_client::foreign_client(surroundings& around, foreign_commands& at_server, std::uint8_t number,
                               clock boot, duration latency)
    : at{around.in, number, boot, boot},
      way{around.in, at, around.server, latency},
      around_{around},
      server_{at_server} {
  way.on_cut([this] { unanswered(); });
}

void foreign_client::start() {
  way.connect_soon();
  rest(1s);
}

void foreign_client::rest(duration most) {
  after(around_.in.chance.between(1ms, most), [this] { begin(); });
}

/// A name, and some tries.
void foreign_client::begin() {
  around_.sees.outsider_ends(at);
  if (retired_) return;
  randomness& chance = around_.in.chance;
  if (tries_ == 0) {
    tries_ = 1 + static_cast<std::uint32_t>(chance.below(20));
    held_ = {step::set, static_cast<std::uint8_t>(chance.below(names)), 0,
             static_cast<std::uint32_t>(chance.one_in(4) ? 3000 : 300 + chance.below(700))};
  }
  --tries_;
  held_.kind = step::set;
  held_.number = ++numbers_;
  ask(held_);
}

void foreign_client::ask(foreign_request request) {
  if (!way.is_up()) return rest(500ms);
  open_ = request;
  sent_ = at.now();
  way.to_server([this, request, c = way.connection()] {
    const auto ttl = foreign_commands::milliseconds{request.ttl_ms};
    const std::string value = value_of(request.number);
    const auto yes = request.kind == step::set      ? server_.set_if_absent(request.name, value, ttl)
                     : request.kind == step::extend ? server_.extend_if_same(request.name, value, ttl)
                                                    : server_.delete_if_same(request.name, value);
    way.to_client(c, [this, request, said_yes = yes.value_or(false)] {
      if (open_ == request) answered(request, said_yes);
    });
  });
  after(reply_limit, [this, request] {
    if (open_ == request) way.cut();
  });
  stumble();
}

void foreign_client::answered(const foreign_request& request, bool yes) {
  open_.reset();
  around_.in.note("foreign", at.number(), static_cast<std::uint64_t>(request.kind) << 8U | request.name,
                  yes ? 1 : 0);
  if (request.kind == step::release) return rest(500ms);
  if (yes && at.now() < end_of_hold()) {
    around_.sees.outsider_holds(at, request.name, end_of_hold(), sent_);
    return hold();
  }
  if (request.kind == step::extend) around_.sees.outsider_ends(at);
  if (tries_ == 0) return rest(500ms);
  after(between_tries, [this] { begin(); });
}

/// redis-py throws then, and its user holds nothing, whatever the server has done.
void foreign_client::unanswered() {
  if (!open_) return;
  open_.reset();
  around_.sees.outsider_ends(at);
  rest(500ms);
}

void foreign_client::hold() {
  randomness& chance = around_.in.chance;
  tries_ = 0;
  after(chance.between(0ms, 400ms), [this] {
    randomness& then = around_.in.chance;
    foreign_request next = held_;
    const auto drawn = then.below(8);
    next.kind = drawn == 0 && !retired_ ? step::extend : step::release;
    if (next.kind == step::extend) return ask(next);
    // From the moment in which it gives the lock back, or is gone, it does nothing under it.
    around_.sees.outsider_ends(at);
    if (drawn == 1) return rest(2s);
    ask(next);
  });
}

/// The worst moment for that: something is on its way.
void foreign_client::stumble() {
  randomness& chance = around_.in.chance;
  if (retired_) return;
  if (chance.one_in(40)) {
    way.cut();
  } else if (chance.one_in(40)) {
    at.pause(false);
    around_.in.after(chance.between(1ms, 2s), [this] { at.resume(); });
  }
}

/// As redlock reckons its drift.
store::time_point foreign_client::end_of_hold() const {
  const auto ttl = std::chrono::milliseconds{held_.ttl_ms};
  return sent_ + ttl - ttl / 50 - 4ms;
}

/// 32 hexadecimal digits, as redis-py's: nothing tells them from an owner id of ours.
std::string foreign_client::value_of(std::uint32_t number) const {
  randomness digits{std::uint64_t{at.number()} << 32U | number};
  owner_id::bytes_type bytes{};
  for (auto& b : bytes) b = static_cast<std::uint8_t>(digits.bits());
  return owner_id{bytes}.hex();
}

}  // namespace holdfast::sim
