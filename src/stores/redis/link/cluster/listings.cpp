// What cluster_link does for a listing.

#include <optional>
#include <utility>

#include "core/summary.hpp"
#include "runtime/event_loop.hpp"
#include "stores/redis/link/cluster/cluster_link.hpp"
#include "stores/redis/link/cluster/cluster_listing.hpp"

namespace holdfast::redis {

void cluster_link::send_listing(tickets::request request, on_reply handler) {
  const auto so_far = std::static_pointer_cast<cluster_listing>(request.listed);
  // Another server has taken the place of one: what it has, and the former has not told, is not known.
  if (so_far != nullptr && so_far->servers == map_.primaries()) return list_next(request, handler);
  awaiting_map_.emplace_back([this, request = std::move(request),
                              handler = std::move(handler)](const store::request_error* problem) mutable {
    if (problem != nullptr) return handler(*problem);
    const auto begun = std::make_shared<cluster_listing>();
    begun->servers = begun->left = map_.primaries();
    request.listed = begun;
    list_next(request, handler);
  });
  topology_.refresh();
}

void cluster_link::list_next(const tickets::request& request, const on_reply& handler) {
  const auto all = std::static_pointer_cast<cluster_listing>(request.listed);
  if (all->left.empty()) return list_moved(request, handler);
  if (all->current == nullptr) all->current = std::make_shared<listing>();
  tickets::request part = request;
  part.listed = all->current;
  auto c = command_for(std::move(part), [this, all, handler](const outcome& o) {
    const auto* const reply = std::get_if<tickets::reply>(&o);
    const auto* const summaries = reply == nullptr ? nullptr : std::get_if<std::vector<lock_summary>>(reply);
    const auto* const part_done = reply == nullptr ? nullptr : std::get_if<tickets::more>(reply);
    if (summaries == nullptr && part_done == nullptr) return handler(o);
    if (summaries != nullptr) {
      for (const lock_summary& each : *summaries) all->found.insert_or_assign(each.name, each);
      for (const std::string& lock : all->current->moved)
        all->moved.insert(lock.substr(settings_.speech.prefix.size()));
      all->current = nullptr;
      all->left.pop_back();
    }
    if (all->left.empty() && all->moved.empty()) return handler(tickets::reply{all->summaries()});
    handler(tickets::reply{tickets::more{all, summaries != nullptr || part_done->progress}});
  });
  push(all->left.back(), std::move(c));
  kick_soon();
}

/// A name that moved from one server to another during the listing may have been seen on neither.
void cluster_link::list_moved(const tickets::request& request, const on_reply& handler) {
  const auto all = std::static_pointer_cast<cluster_listing>(request.listed);
  if (all->moved.empty()) {
    loop().at(loop().now(), [handler, all] { handler(tickets::reply{all->summaries()}); });
    return;
  }
  tickets::request look;
  look.kind = tickets::task::inspect;
  look.name = *all->moved.begin();
  const std::uint16_t slot = slot_of_name(look.name);
  auto c = command_for(std::move(look), [all, handler, idle = request.idle](const outcome& o) {
    const auto* const reply = std::get_if<tickets::reply>(&o);
    const auto* const state = reply == nullptr ? nullptr : std::get_if<std::optional<lock_state>>(reply);
    if (state == nullptr) return handler(o);
    all->moved.erase(all->moved.begin());
    const bool in_use = *state && !((*state)->holders.empty() && (*state)->waiters.empty());
    if (*state && (in_use || idle)) all->found.insert_or_assign((*state)->name, store::summary_of(**state));
    if (all->moved.empty()) return handler(tickets::reply{all->summaries()});
    handler(tickets::reply{tickets::more{all, true}});
  });
  route(std::move(c), slot);
  kick_soon();
}

}  // namespace holdfast::redis
