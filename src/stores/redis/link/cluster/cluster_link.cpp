// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/link/cluster/cluster_link.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "holdfast/error.hpp"
#include "runtime/event_loop.hpp"
#include "stores/redis/link/connection.hpp"
#include "stores/redis/protocol/keys.hpp"
#include "stores/redis/protocol/resp.hpp"

namespace holdfast::redis {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_nodes = 1024;  // whatever addresses a faulty server names
constexpr std::size_t most_candidates = 16;
constexpr unsigned most_passes = 10;       // of a listing, over servers that get slots all the time
constexpr unsigned most_redirections = 5;  // of one request
constexpr duration idle_limit = 1min;
constexpr duration sweep_every = 15s;
constexpr duration stalled_after = 500ms;

}  // namespace

std::vector<lock_summary> cluster_listing::summaries() const {
  std::vector<lock_summary> all;
  all.reserve(found.size());
  for (const auto& [name, summary] : found) all.push_back(summary);
  return all;
}

bool cluster_listing::take_moved(const tickets::link::outcome& of) {
  const auto* const listed = tickets::reply_in<std::vector<lock_summary>>(of);
  if (listed == nullptr) return false;
  moved.erase(moved.begin());
  for (const lock_summary& each : *listed) found.insert_or_assign(each.name, each);
  return true;
}

cluster_link::cluster_link(runtime::event_loop& loop, settings s)
    : node_link{loop, std::move(s)},
      topology_{loop,
                {[this] { return candidates(); },
                 [this](const server_address& which, topology::on_answer handler) {
                   ask(which, std::move(handler));
                 },
                 [this](slot_map map) { take_map(std::move(map)); },
                 [this](const store::request_error& reason) { resume(&reason); }}} {}

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
  if (refuses(request, handler)) return;
  if (const auto* const holds = std::get_if<tickets::renew>(&request))
    return send_split(*holds, std::move(handler));
  if (auto* const names = std::get_if<tickets::list>(&request))
    return send_listing(std::move(*names), std::move(handler));
  const std::uint16_t slot = settings_.speech.slot_of(names_of(request).front());
  route(command_for(std::move(request), std::move(handler)), slot);
}

void cluster_link::take_back(std::uint64_t request) {
  for (const auto& [address, each] : members_) each.server->take_back(request);
  const auto found = std::find_if(awaiting_map_.begin(), awaiting_map_.end(),
                                  [&](const awaiting& each) { return each.request == request; });
  if (found == awaiting_map_.end()) return;
  const auto fail = std::move(found->go_on);
  awaiting_map_.erase(found);
  store::request_error unsent = store::unsent(topology_.problem().reason);
  const auto waits = std::find_if(members_.begin(), members_.end(),
                                  [](const auto& each) { return each.second.server->is_in_use(); });
  if (waits != members_.end()) unsent.reason.message += "; " + waits->second.server->reason_to_wait().message;
  fail(&unsent);
}

/// A script takes the keys of one slot alone.
bool cluster_link::joins(const std::vector<std::string_view>& names) const {
  return std::all_of(names.begin(), names.end(), [&](std::string_view each) {
    return settings_.speech.slot_of(each) == settings_.speech.slot_of(names.front());
  });
}

cluster_link::command_ptr cluster_link::command_for(tickets::request request, on_reply handler) {
  command_ptr c = command_of(std::move(request), std::move(handler));
  c->redirected = [this](pending_command& refused) {
    if (const auto& to = refused.fsm->redirection()) return on_redirection(refused, *to);
    on_slot_between_servers(refused);
  };
  return c;
}

/// To the server that has the slot. Where none is known, the request waits until the map was asked for.
void cluster_link::route(command_ptr c, std::uint16_t slot) {
  if (const server_address* const to = map_.primary_of(slot)) return push(*to, std::move(c));
  const auto parked = std::make_shared<command_ptr>(std::move(c));
  const std::uint64_t request = (*parked)->handler.request;
  awaiting_map_.emplace_back(request, [this, slot, parked](const store::request_error* problem) {
    command_ptr command = std::move(*parked);
    if (problem != nullptr) {
      command->fail(*problem);
      return command->complete();
    }
    if (map_.primary_of(slot) != nullptr) return route(std::move(command), slot);
    fail_soon(
        std::move(command),
        {{errc::unavailable, "no server of the cluster has the slot " + std::to_string(slot)}, true, false});
  });
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
  const duration ttl = c->fsm ? ballots::longest_ttl(c->fsm->request()) : duration::zero();
  m.needed_until = std::max(
      m.needed_until, loop().now() + idle_limit + ttl + settings_.connect_limit + settings_.answer_limit);
  if (stall_check_ == 0 && !is_shut_)
    stall_check_ = loop().at(loop().now() + stalled_after, [this] { look_for_stalled(); });
  c->server = to;
  m.server->push(std::move(c));
  add_unflushed(m.server);
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
  const bool is_late = ballots::is_too_late(refused.fsm->request(), loop().now());
  if (!is_known || is_late || ++refused.redirections > most_redirections) return refused.complete();
  command_ptr again = command_for(refused.fsm->take_request(), nullptr);
  again->redirections = refused.redirections;
  again->is_asking = !to.for_good;
  again->handler = std::exchange(refused.handler, nullptr);
  push(there, std::move(again));
  kick_soon();
}

// ---- nodes

cluster_link::node_ptr cluster_link::find_node(const std::string& place) const {
  const auto found = members_.find(place);
  return found == members_.end() ? nullptr : found->second.server;
}

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
  const node_ptr found = find_node(at.at().place());
  if (found.get() != &at) return;
  add_unflushed(found);
  kick_soon();
}

void cluster_link::on_unreachable(node& server) {
  const runtime::core_lock now{loop(), true};
  if (is_shut_ || find_node(server.at().place()).get() != &server) return;
  if (!map_.last_slot_of(server.at())) return;
  // Not here: the thread is in a function of the node.
  loop().at(loop().now(), [this] {
    if (!is_shut_) topology_.refresh();
  });
}

void cluster_link::track(const store::watched& target, bool on) {
  if (!target) {
    if (on) return topology_.refresh();  // then all primaries are known
    for (const auto& [address, each] : members_) each.server->track(target, false);
  } else if (on) {
    const std::string& place = tracked_[*target];
    follow_tracked();
    if (place.empty()) topology_.refresh();
  } else if (const auto known = tracked_.extract(*target)) {
    if (const node_ptr server = find_node(known.mapped())) server->track(target, false);
  }
}

/// Has each name that is watched tracked by the server that has its slot.
void cluster_link::follow_tracked() {
  for (auto& [name, place] : tracked_) {
    const server_address* const to = map_.primary_of(settings_.speech.slot_of(name));
    if (to == nullptr || to->place() == place) continue;
    if (const node_ptr former = find_node(std::exchange(place, {}))) former->track(name, false);
    try {
      const node_ptr server = member_at(*to).server;
      place = to->place();
      server->track(name, true);
    } catch (const error&) {
      return;  // out of threads or descriptors; the next sweep tries it again
    }
  }
}

/// One that comes back there later tracks nothing.
cluster_link::members::iterator cluster_link::remove(members::iterator each, std::vector<node_ptr>& removed) {
  removed.push_back(std::move(each->second.server));
  for (auto& [name, place] : tracked_)
    if (place == each->first) place.clear();
  return members_.erase(each);
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
    each = remove(each, idle);
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

// ---- a batch of renewals

void cluster_link::send_split(const tickets::renew& whole, on_reply handler) {
  struct gathered {
    split_renewal parts;
    on_reply handler;
  };
  const auto all =
      std::make_shared<gathered>(gathered{split_renewal{whole, settings_.speech.prefix}, std::move(handler)});
  const std::size_t count = all->parts.parts().size();
  for (std::size_t i = 0; i < count; ++i) {
    const tickets::renew& part = all->parts.parts()[i].request;
    const std::uint16_t slot = settings_.speech.slot_of(part.holds.front().name);
    route(command_for(part,
                      [all, i](const outcome& of_part) {
                        if (auto whole_outcome = all->parts.take(i, of_part))
                          all->handler(std::move(*whole_outcome));
                      }),
          slot);
  }
}

/// The holds are renewed one key at a time.
void cluster_link::on_slot_between_servers(pending_command& refused) {
  if (ballots::is_too_late(refused.fsm->request(), loop().now())) return refused.complete();
  auto whole = std::get<tickets::renew>(refused.fsm->take_request());
  const store::time_point send_by = whole.send_by;
  const auto all = std::make_shared<moving_holds>(
      moving_holds{moving_renewal{std::move(whole), settings_.speech}, nullptr, send_by});
  for (const moving_renewal::step& each : all->renewal.begin())
    renew_by_key(all, each, map_.primary_or(slot_of(each.key), refused.server), false, 0);
  all->handler = std::exchange(refused.handler, nullptr);
  topology_.refresh();
}

void cluster_link::renew_by_key(const std::shared_ptr<moving_holds>& all, const moving_renewal::step& next,
                                const server_address& at, bool is_asking, unsigned redirections) {
  auto c = std::make_unique<pending_command>();
  if (is_asking) append(c->command, {"ASKING"});
  c->command += next.command;
  c->replies_due = is_asking ? 2 : 1;
  c->on_answer = [this, all, next, at, redirections](const value* reply) {
    const bool refused = reply != nullptr && reply->is(value::kind::error);
    const bool is_late = loop().now() >= all->send_by;
    if (const auto to = refused ? redirection_in(reply->text) : std::nullopt;
        to && !is_late && redirections < most_redirections) {
      server_address there = to->to;
      if (there.host.empty()) there.host = at.host;
      return renew_by_key(all, next, there, !to->for_good, redirections + 1);
    }
    auto more = all->renewal.take(next.hold, refused ? nullptr : reply);
    if (more && is_late) more = all->renewal.take(next.hold, nullptr);
    if (more) return renew_by_key(all, *more, map_.primary_or(slot_of(more->key), at), false, 0);
    if (auto result = all->renewal.result()) all->handler(tickets::reply{std::move(*result)});
  };
  push(at, std::move(c));
  kick_soon();
}

// ---- a listing

void cluster_link::send_listing(tickets::list request, on_reply handler) {
  if (request.listed == nullptr) request.listed = std::make_shared<cluster_listing>();
  const auto all = std::static_pointer_cast<cluster_listing>(request.listed);
  // A server that has no slot any more has given its names to others.
  while (!all->left.empty() && !map_.last_slot_of(all->left.back())) {
    all->left.pop_back();
    all->current = nullptr;
  }
  if (!all->left.empty()) return list_server(request, all, handler);
  if (!all->moved.empty()) return list_moved(request, all, handler);
  const std::uint64_t number = handler.request;
  awaiting_map_.emplace_back(number,
                             [this, all, handler = std::move(handler)](const store::request_error* problem) {
                               if (problem != nullptr) return handler(*problem);
                               if (all->passes++ < most_passes) all->left = all->map.gained_in(map_);
                               all->map = map_;
                               if (all->left.empty()) return handler(tickets::reply{all->summaries()});
                               handler(tickets::reply{tickets::more{all}});
                             });
  topology_.refresh();
}

/// A part of the listing of one server.
void cluster_link::list_server(tickets::list request, const std::shared_ptr<cluster_listing>& all,
                               const on_reply& handler) {
  if (all->current == nullptr) all->current = std::make_shared<listing>();
  request.listed = all->current;
  auto c = command_for(std::move(request), [this, all, handler](outcome&& o) {
    const auto* const summaries = tickets::reply_in<std::vector<lock_summary>>(o);
    const auto* const part = tickets::reply_in<tickets::more>(o);
    if (summaries == nullptr && part == nullptr) return handler(std::move(o));
    if (summaries != nullptr) {
      for (const lock_summary& each : *summaries) all->found.insert_or_assign(each.name, each);
      for (const std::string& lock : all->current->moved)
        all->moved.insert(lock.substr(settings_.speech.prefix.size()));
      all->current = nullptr;
      all->left.pop_back();
    }
    handler(tickets::reply{tickets::more{all, summaries != nullptr || part->progress}});
  });
  push(all->left.back(), std::move(c));
  kick_soon();
}

/// A name whose server had another one by the time that it was read.
void cluster_link::list_moved(const tickets::list& request, const std::shared_ptr<cluster_listing>& all,
                              const on_reply& handler) {
  const std::string& name = *all->moved.begin();
  const auto part = std::make_shared<listing>();
  part->scanned = true;
  part->follows = true;
  part->found.insert(settings_.speech.prefix + name);
  tickets::list look = request;
  look.listed = part;
  const std::uint16_t slot = settings_.speech.slot_of(name);
  auto c = command_for(std::move(look), [all, handler](outcome&& o) {
    if (!all->take_moved(o)) return handler(std::move(o));
    handler(tickets::reply{tickets::more{all}});
  });
  route(std::move(c), slot);
  kick_soon();
}

// ---- the map

void cluster_link::ask(const server_address& which, topology::on_answer handler) {
  auto c = std::make_unique<pending_command>();
  slot_map::append_question(c->command);
  pending_command& command = *c;
  command.on_answer = [&command, handler = std::move(handler)](const value* reply) {
    handler(reply, command.problem ? &*command.problem : nullptr);
  };
  push(which, std::move(c));
  kick_soon();
}

/// Those with a connection first.
std::vector<server_address> cluster_link::candidates() {
  std::vector<server_address> all = map_.primaries();
  for (const auto* more : {&map_.replicas(), &settings_.cluster})
    all.insert(all.end(), more->begin(), more->end());
  for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[loop().random() % i]);
  std::partition(all.begin(), all.end(), [this](const server_address& each) {
    const node_ptr known = find_node(each.place());
    return known && known->is_connected();
  });
  std::vector<server_address> chosen;
  for (const server_address& each : all) {
    if (chosen.size() == most_candidates) break;
    if (std::find(chosen.begin(), chosen.end(), each) == chosen.end()) chosen.push_back(each);
  }
  return chosen;
}

void cluster_link::take_map(slot_map map) {
  const bool moved = map_.differs_from(map);
  std::vector<node_ptr> former;
  for (auto each = members_.begin(); each != members_.end();) {
    const server_address& at = each->second.server->at();
    each->second.server->marker().move_to(map.last_slot_of(at));
    if (map_.last_slot_of(at) && !map.last_slot_of(at)) {
      each = remove(each, former);
    } else {
      ++each;
    }
  }
  map_ = std::move(map);
  leave_later(former);
  resume(nullptr);
  try {
    const bool is_all_watched = watchers().contains(std::nullopt);  // keys change on every server
    for (const server_address& each : map_.primaries())
      if (is_all_watched) member_at(each).server->track(std::nullopt, true);
  } catch (const error&) {  // out of threads or descriptors; the next sweep tries it again
  }
  follow_tracked();
  // Who waits at a server that has the slot no more hears nothing of it.
  if (moved) report_gap();
  kick_soon();
}

/// What waits for the map goes on, or fails.
void cluster_link::resume(const store::request_error* problem) {
  for (const auto& each : std::exchange(awaiting_map_, {})) each.go_on(problem);
}

bool cluster_link::move_slot(std::uint16_t slot, const server_address& to) {
  const server_address* const known = map_.primary_of(slot);
  const std::optional<server_address> from = known == nullptr ? std::nullopt : std::optional{*known};
  if (!map_.move(slot, to)) return false;
  if (from) place_marker(*from);
  place_marker(to);
  follow_tracked();
  return true;
}

void cluster_link::place_marker(const server_address& primary) {
  if (const node_ptr known = find_node(primary.place())) known->marker().move_to(map_.last_slot_of(primary));
}

bool cluster_link::on_marker_moved(node& server, const redirection& to) {
  const runtime::core_lock now{loop(), true};
  topology_.refresh();
  if (to.for_good) {
    server_address there = to.to;
    if (there.host.empty()) there.host = server.at().host;
    return move_slot(to.slot, there) && there != server.at();
  }
  // The slot is on its way, and the marker is there already.
  const auto other = map_.last_slot_of(server.at(), to.slot);
  if (other) server.marker().move_to(other);
  return other.has_value();
}

}  // namespace holdfast::redis
