// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/link/node_link.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/event_loop.hpp"
#include "stores/redis/protocol/failover_guard.hpp"

namespace holdfast::redis {

node_link::node_link(runtime::event_loop& loop, settings s) : notifying_link{loop}, settings_{std::move(s)} {
  if (settings_.tls.on) secure_ = std::make_unique<tls_context>(settings_);
}

bool node_link::refuses(const tickets::request& r, const on_reply& handler) {
  const auto refusal = outlasts_guard(r, settings_.speech);
  if (!refusal) return false;
  loop().at(loop().now(), [handler, reason = *refusal] { handler(store::request_error{reason}); });
  return true;
}

node_link::command_ptr node_link::command_of(ballots::request&& r, on_reply&& handler) const {
  auto c = std::make_unique<pending_command>();
  c->fsm.emplace(std::move(r), settings_.speech, client_);
  c->handler = std::move(handler);
  return c;
}

// ---- I/O

void node_link::add_unflushed(const node_ptr& to) {
  const annotated::lock held{mutex_};
  if (std::find(unflushed_.begin(), unflushed_.end(), to) == unflushed_.end()) unflushed_.push_back(to);
}

std::vector<node_link::node_ptr> node_link::take_unflushed() {
  const annotated::lock held{mutex_};
  return std::exchange(unflushed_, {});
}

void node_link::kick_soon() {
  loop().defer([this] { kick(); });
}

void node_link::help(store::caller& caller) {
  const std::vector<node_ptr> nodes = take_unflushed();
  for (const node_ptr& each : nodes) each->flush_unless_read();
  reader().serve(caller);
  for (const node_ptr& each : nodes) each->kick();
}

bool node_link::drive() {
  for (const node_ptr& each : take_unflushed()) each->flush();
  return false;
}

void node_link::kick() {
  for (const node_ptr& each : take_unflushed()) each->kick();
}

}  // namespace holdfast::redis
