#include "stores/redis/link/cluster/tracked_names.hpp"

#include <utility>

#include "holdfast/error.hpp"
#include "stores/redis/protocol/keys.hpp"

namespace holdfast::redis {

bool tracked_names::add(const std::string& name, const slot_map& map) {
  const std::string& place = places_[name];
  follow(map);
  return !place.empty();
}

void tracked_names::remove(const std::string& name) {
  const auto found = places_.find(name);
  if (found == places_.end()) return;
  track(name, found->second, false);
  places_.erase(found);
}

void tracked_names::follow(const slot_map& map) {
  for (auto& [name, place] : places_) {
    const server_address* const to = map.primary_of(slot_of(prefix_ + name));
    if (to == nullptr || to->place() == place) continue;
    track(name, std::exchange(place, {}), false);
    try {
      const auto server = nodes_.reach(*to);
      place = to->place();
      server->track(name, true);
    } catch (const error&) {
      return;  // out of threads or descriptors; the next sweep tries it again
    }
  }
}

void tracked_names::forget(const std::string& place) {
  for (auto& [name, at] : places_)
    if (at == place) at.clear();
}

void tracked_names::track(const std::string& name, const std::string& place, bool on) const {
  if (const auto server = nodes_.find(place)) server->track(name, on);
}

}  // namespace holdfast::redis
