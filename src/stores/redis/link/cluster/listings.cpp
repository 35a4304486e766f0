// What cluster_link does for a listing.

#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "stores/redis/link/cluster/cluster_link.hpp"
#include "stores/redis/link/cluster/cluster_listing.hpp"

namespace holdfast::redis {

namespace {

constexpr unsigned most_passes = 10;  // over servers that get slots all the time

}  // namespace

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
  awaiting_map_.emplace_back([this, all, handler = std::move(handler)](const store::request_error* problem) {
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
  auto c = command_for(std::move(request), [this, all, handler](const outcome& o) {
    const auto* const reply = std::get_if<tickets::reply>(&o);
    const auto* const summaries = reply == nullptr ? nullptr : std::get_if<std::vector<lock_summary>>(reply);
    const auto* const part = reply == nullptr ? nullptr : std::get_if<tickets::more>(reply);
    if (summaries == nullptr && part == nullptr) return handler(o);
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
  auto c = command_for(std::move(look), [all, handler](const outcome& o) {
    if (!all->take_moved(o)) return handler(o);
    handler(tickets::reply{tickets::more{all}});
  });
  route(std::move(c), slot);
  kick_soon();
}

}  // namespace holdfast::redis
