#include "stores/redis/link/cluster/cluster_link.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "holdfast/error.hpp"
#include "runtime/event_loop.hpp"
#include "stores/redis/link/dial.hpp"
#include "stores/redis/protocol/failover_guard.hpp"
#include "stores/redis/protocol/keys.hpp"
#include "stores/redis/protocol/redirection.hpp"

namespace holdfast::redis {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_nodes = 1024;  // whatever addresses a faulty server names
constexpr duration idle_limit = 1min;
constexpr duration sweep_every = 15s;
constexpr duration stalled_after = 500ms;

}  // namespace

cluster_link::cluster_link(runtime::event_loop& loop, settings s)
    : notifying_link{loop},
      settings_{std::move(s)},
      topology_{loop,
                {[this] { return candidates(); },
                 [this](const server_address& which, topology::on_answer handler) {
                   ask(which, std::move(handler));
                 },
                 [this](slot_map map) { take_map(std::move(map)); },
                 [this](const store::request_error& reason) { fail_parked(reason); }}},
      names_{settings_.speech.prefix,
             {[this](const std::string& place) {
                const auto found = members_.find(place);
                return found == members_.end() ? nullptr : found->second.server;
              },
              [this](const server_address& at) { return member_at(at).server; }}} {
  if (settings_.tls.on) secure_ = std::make_unique<tls_context>(settings_);
}

void cluster_link::shut() {
  std::vector<node_ptr> all;
  {
    const runtime::core_lock now{loop(), true};
    is_shut_ = true;
    topology_.stop();
    loop().cancel(std::exchange(sweep_, 0));
    loop().cancel(std::exchange(stall_check_, 0));
    for (const auto& [address, each] : members_) all.push_back(each.server);
    all.insert(all.end(), leaving_.begin(), leaving_.end());
  }
  for (const node_ptr& each : all) each->stop();
  reader().stop();
}

// ---- requests

void cluster_link::send(tickets::request request, on_reply handler) {
  if (auto refusal = outlasts_guard(request, settings_.speech)) {
    loop().at(loop().now(), [handler = std::move(handler), reason = std::move(*refusal)] {
      handler(store::request_error{reason});
    });
    return;
  }
  if (const auto* const holds = std::get_if<tickets::renew>(&request))
    return send_split(*holds, std::move(handler));
  if (auto* const names = std::get_if<tickets::list>(&request))
    return send_listing(std::move(*names), std::move(handler));
  const std::uint16_t slot = settings_.speech.slot_of(name_of(request));
  route(command_for(std::move(request), std::move(handler)), slot);
}

cluster_link::command_ptr cluster_link::command_for(tickets::request request, on_reply handler) {
  auto c = std::make_unique<pending_command>();
  c->fsm.emplace(std::move(request), settings_.speech, client_);
  c->handler = std::move(handler);
  c->redirected = this;
  return c;
}

/// To the server that has the slot. Where none is known, the request waits until the map was asked for.
void cluster_link::route(command_ptr c, std::uint16_t slot) {
  if (const server_address* const to = map_.primary_of(slot)) return push(*to, std::move(c));
  parked& waiting = parked_.emplace_back();
  waiting.slot = slot;
  waiting.command = std::move(c);
  topology_.refresh();
}

void cluster_link::push(const server_address& to, command_ptr c) {
  member* found = nullptr;
  try {
    found = &member_at(to);
  } catch (const error& e) {
    return fail_soon(std::move(c), {{errc::exhausted, to.place() + ": " + e.what()}, true, false});
  }
  member& m = *found;
  const bool urgent = c->on_answer || (c->fsm && !tickets::is_release(c->fsm->request()));
  const duration ttl = c->fsm ? tickets::longest_ttl(c->fsm->request()) : duration::zero();
  m.needed_until = std::max(
      m.needed_until, loop().now() + idle_limit + ttl + settings_.connect_limit + settings_.answer_limit);
  if (stall_check_ == 0 && !is_shut_)
    stall_check_ = loop().at(loop().now() + stalled_after, [this] { look_for_stalled(); });
  c->server = to;
  m.server->push(std::move(c), urgent);
  unflushed_.add(m.server);
}

/// Not at once: a request is never answered while it is sent.
void cluster_link::fail_soon(command_ptr c, const store::request_error& reason) {
  c->fail(reason);
  loop().at(loop().now(), [failed = std::shared_ptr{std::move(c)}] { failed->complete(); });
}

/// The server refused it, and has not carried it out.
void cluster_link::on_redirection(pending_command& refused, const redirection& to) {
  server_address there = to.to;
  if (there.host.empty()) there.host = refused.server.host;
  bool is_known = true;
  if (to.for_good) {
    is_known = move_slot(to.slot, there);
    topology_.refresh();
  }
  // The error is worth another try.
  const bool is_late = tickets::is_too_late(refused.fsm->request(), loop().now());
  if (!is_known || is_late || ++refused.redirections > most_redirections) return refused.complete();
  command_ptr again = command_for(refused.fsm->take_request(), nullptr);
  again->redirections = refused.redirections;
  again->is_asking = !to.for_good;
  again->handler = std::exchange(refused.handler, nullptr);
  push(there, std::move(again));
  kick_soon();
}

// ---- nodes

cluster_link::member& cluster_link::member_at(const server_address& address) {
  if (const auto found = members_.find(address.place()); found != members_.end()) return found->second;
  if (members_.size() >= most_nodes) throw error{errc::exhausted, "the cluster names too many servers"};
  node::parent& parent = *this;
  const auto server =
      std::make_shared<node>(loop(), reader(), settings_, address, address.place(), client_, parent);
  server->marker().move_to(map_.last_slot_of(address));
  if (watchers().contains(std::nullopt)) server->track(std::nullopt, true);
  if (!is_shut_) server->start();
  member& m = members_[address.place()];
  m.server = server;
  if (sweep_ == 0 && !is_shut_) sweep_ = loop().at(loop().now() + sweep_every, [this] { leave_idle(); });
  return m;
}

connection cluster_link::connect(node& to, int stop) {
  return dial(settings_, to.at(), secure_.get(), io_deadline{settings_.connect_limit, stop}, to.wishes());
}

void cluster_link::on_connected(node& /*to*/, bool again) {
  if (again) {
    const runtime::core_lock now{loop()};
    report_gap();
  }
}

void cluster_link::on_queued(node& at) {
  const auto found = members_.find(at.at().place());
  if (found == members_.end() || found->second.server.get() != &at) return;
  unflushed_.add(found->second.server);
  kick_soon();
}

void cluster_link::on_unreachable(node& server) {
  const runtime::core_lock now{loop(), true};
  const auto found = members_.find(server.at().place());
  if (is_shut_ || found == members_.end() || found->second.server.get() != &server) return;
  if (!map_.last_slot_of(server.at())) return;
  // Not here: the thread is in a function of the node.
  loop().at(loop().now(), [this] {
    if (!is_shut_) topology_.refresh();
  });
}

void cluster_link::track(const store::watched& target, bool on) {
  if (target) {
    if (!on) return names_.remove(*target);
    if (!names_.add(*target, map_)) topology_.refresh();
    return;
  }
  if (on) return topology_.refresh();  // then all primaries are known
  for (const auto& [address, each] : members_) each.server->track(target, false);
}

void cluster_link::leave_idle() {
  sweep_ = 0;
  std::vector<node_ptr> idle;
  for (auto each = members_.begin(); each != members_.end();) {
    const bool is_watched = each->second.server->is_tracked() && map_.last_slot_of(each->second.server->at());
    if (is_watched || loop().now() < each->second.needed_until) {
      ++each;
      continue;
    }
    idle.push_back(std::move(each->second.server));
    names_.forget(each->first);
    each = members_.erase(each);
  }
  if (is_tracked()) topology_.refresh();  // a server that came may have locks
  if (!members_.empty() && sweep_ == 0)
    sweep_ = loop().at(loop().now() + sweep_every, [this] { leave_idle(); });
  leave_later(idle);
}

/// Without the core lock, and on the loop's thread, which is in no function of a node.
void cluster_link::leave_later(const std::vector<node_ptr>& nodes) {
  if (nodes.empty()) return;
  leaving_.insert(leaving_.end(), nodes.begin(), nodes.end());
  loop().at(loop().now(), [this] {
    if (is_shut_) return;
    loop().defer([leaving = std::exchange(leaving_, {})] {
      for (const node_ptr& each : leaving)
        each->close({{errc::unavailable, "the node has no slot any more, or was idle"}, true});
    });
  });
}

void cluster_link::look_for_stalled() {
  stall_check_ = 0;
  bool is_in_use = false;
  bool is_stalled = false;
  for (const auto& [address, each] : members_) {
    is_in_use = is_in_use || each.server->is_in_use();
    is_stalled =
        is_stalled || (each.server->is_stalled(stalled_after) && map_.last_slot_of(each.server->at()));
  }
  if (is_stalled) topology_.refresh();
  if (is_in_use) stall_check_ = loop().at(loop().now() + stalled_after, [this] { look_for_stalled(); });
}

// ---- I/O

/// What a handler has sent has no caller that would send it.
void cluster_link::kick_soon() {
  loop().defer([this] { kick(); });
}

void cluster_link::help(store::caller& caller) { unflushed_.help(caller, reader()); }

bool cluster_link::drive() {
  unflushed_.drive();
  return false;
}

void cluster_link::kick() { unflushed_.kick(); }

}  // namespace holdfast::redis
