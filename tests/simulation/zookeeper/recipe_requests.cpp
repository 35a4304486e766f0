// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <string_view>

#include "simulation/zookeeper/recipe_ledger.hpp"
#include "stores/zookeeper/protocol/note.hpp"

// What the ledger requires of requests to release, which are written into the nodes of holders.

namespace holdfast::sim {

namespace {

constexpr std::string_view mark = ",\"release_request\":";

}  // namespace

/// It is the last member of an object.
std::string recipe_ledger::without_request(std::string_view data) {
  const auto at = data.find(mark);
  return at == std::string_view::npos ? std::string{data} : std::string{data.substr(0, at)}.append("}");
}

std::vector<std::string> recipe_ledger::nodes_of_holders(std::size_t name) const {
  std::vector<std::string> all;
  for (const holder& h : holders_.at(name)) all.insert(all.end(), h.nodes.begin(), h.nodes.end());
  return all;
}

/// Whether a claim for permits has a place in the queue for them.
bool recipe_ledger::is_queued(std::size_t name, maker by) const {
  const std::string below = paths_[name] + "/locks";
  const znode* const queue = servers_.decided().find(below);
  if (queue == nullptr) return false;
  return std::any_of(queue->children.begin(), queue->children.end(), [&](const std::string& child) {
    return claimed_.at(below + '/' + child).made_by == by;
  });
}

/// A node gets a new value from its own claim, or a request to release from any client.
void recipe_ledger::written(const transaction& t) {
  const auto found = claimed_.find(t.path);
  const std::size_t name = name_at(t.path);
  if (found == claimed_.end() || name == names) return;
  claimed& c = found->second;
  const bool is_revoked = t.data == revoke_message;
  const bool has_request = t.data.find(mark) != std::string::npos;
  if (t.by == c.session && !is_revoked) {
    std::string value = without_request(t.data);
    const bool is_new = std::find(c.data.begin(), c.data.end(), value) == c.data.end();
    if (is_new) c.data.push_back(std::move(value));
    if (is_new || !has_request) return;
  }
  in_.note("request written", name, static_cast<std::uint64_t>(c.session));
  require_request(t, name, c);
  const std::vector<holder> before = holders_[name];
  decide_anew(name);
  if (holders_[name] != before) in_.violated("a request to release has changed who holds: " + t.path);
  const auto owner = owners_.find(c.made_by);
  if (owner == owners_.end()) return;
  requested_.insert(c.made_by);
  if (on_release_request) on_release_request(owner->second);
}

/// It is for a holder, and changes nothing but the request in its data. A client writes what it has read,
/// which may be older than the holder's last value: the last write stays. Curator's word takes the place of
/// the data, and the holder's client writes that back: until then others may have read either.
void recipe_ledger::require_request(const transaction& t, std::size_t name, claimed& c) {
  // The nodes of permits go one by one, the place in the queue first. An operator may have removed some.
  const bool is_going = name >= locks && !is_queued(name, c.made_by);
  const bool may_seem_to = is_going || ended_by_hand_.contains(c.made_by);
  if (!holding_nodes_.contains(t.path) && !may_seem_to)
    in_.violated("a request to release is for one that does not hold: " + t.path);
  const bool is_curators = t.data == revoke_message;
  if (is_curators && t.by == 0) c.has_met_revoker = true;
  const bool is_ours = zookeeper::read_note(c.data.back()).has_value();
  if (is_curators && is_ours && !c.has_met_revoker)
    in_.violated("a request to release has taken the place of a holder's data: " + t.path);
  const bool is_known = std::find(c.data.begin(), c.data.end(), without_request(t.data)) != c.data.end();
  const bool has_request = t.data.find(mark) != std::string::npos;
  if (!is_curators && (!is_known || !has_request))
    in_.violated("a request to release has changed a holder's data: " + t.path);
}

}  // namespace holdfast::sim
