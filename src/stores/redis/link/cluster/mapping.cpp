// What cluster_link does with the map of the cluster.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/error.hpp"
#include "runtime/event_loop.hpp"
#include "stores/redis/link/cluster/cluster_link.hpp"
#include "stores/redis/protocol/redirection.hpp"
#include "stores/redis/protocol/slot_map.hpp"

namespace holdfast::redis {

namespace {

constexpr std::size_t most_candidates = 16;

}  // namespace

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
    const auto found = members_.find(each.place());
    return found != members_.end() && found->second.server->is_connected();
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
      former.push_back(std::move(each->second.server));
      names_.forget(each->first);
      each = members_.erase(each);
    } else {
      ++each;
    }
  }
  map_ = std::move(map);
  leave_later(former);
  route_parked();
  for (const auto& resume : std::exchange(awaiting_map_, {})) resume(nullptr);
  try {
    const bool is_all_watched = watchers().contains(std::nullopt);  // keys change on every server
    for (const server_address& each : map_.primaries())
      if (is_all_watched) member_at(each).server->track(std::nullopt, true);
  } catch (const error&) {  // out of threads or descriptors; the next sweep tries it again
  }
  names_.follow(map_);
  // Who waits at a server that has the slot no more hears nothing of it.
  if (moved) report_gap();
  kick_soon();
}

void cluster_link::route_parked() {
  for (parked& each : std::exchange(parked_, {})) {
    if (map_.primary_of(each.slot) != nullptr) {
      route(std::move(each.command), each.slot);
      continue;
    }
    fail_soon(std::move(each.command),
              {{errc::unavailable, "no server of the cluster has the slot " + std::to_string(each.slot)},
               true,
               false});
  }
}

void cluster_link::fail_parked(const store::request_error& reason) {
  const std::vector<parked> failed = std::exchange(parked_, {});
  for (const auto& resume : std::exchange(awaiting_map_, {})) resume(&reason);
  for (const parked& each : failed) {
    each.command->fail(reason);
    each.command->complete();
  }
}

bool cluster_link::move_slot(std::uint16_t slot, const server_address& to) {
  const server_address* const known = map_.primary_of(slot);
  const std::optional<server_address> from = known == nullptr ? std::nullopt : std::optional{*known};
  if (!map_.move(slot, to)) return false;
  if (from) place_marker(*from);
  place_marker(to);
  names_.follow(map_);
  return true;
}

void cluster_link::place_marker(const server_address& primary) {
  const auto found = members_.find(primary.place());
  if (found != members_.end()) found->second.server->marker().move_to(map_.last_slot_of(primary));
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
