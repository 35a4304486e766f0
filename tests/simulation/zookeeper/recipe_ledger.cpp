// SPDX-License-Identifier: Apache-2.0
#include "simulation/zookeeper/recipe_ledger.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "stores/zookeeper/protocol/note.hpp"
#include "stores/zookeeper/protocol/paths.hpp"

namespace holdfast::sim {

using namespace std::chrono_literals;
using zookeeper::contender;
using zookeeper::role;

recipe_ledger::recipe_ledger(scene& in, const site& at, ensemble& servers, std::string root,
                             zookeeper::layout layout)
    : ledger{in, at, {}, [] { return std::vector<standing>{}; }},
      in_{in},
      servers_{servers},
      layout_{layout} {
  for (std::size_t i = 0; i < names; ++i) paths_.at(i) = zookeeper::path_of(root, name_of(i));
  servers.on_change = [this](const transaction& t) { changed(t); };
  servers.on_removal_notified = [this](const std::string& path, std::int64_t session) {
    woken(path, session);
  };
}

owner_id recipe_ledger::alias_of(const owner_id& owner) {
  const auto [at, is_new] = aliases_.try_emplace(owner);
  if (is_new) {
    at->second = drawn(in_.chance);
    owners_.emplace(maker_of_alias(at->second), owner);
  }
  return at->second;
}

recipe_ledger::maker recipe_ledger::maker_of(const owner_id& owner) const {
  const auto found = aliases_.find(owner);
  return found == aliases_.end() ? 0 : maker_of_alias(found->second);
}

recipe_ledger::maker recipe_ledger::maker_of_alias(const owner_id& id) {
  maker m = 0;
  std::memcpy(&m, id.bytes().data() + sizeof m, sizeof m);
  return m;
}

std::size_t recipe_ledger::name_at(const std::string& path) const {
  for (std::size_t i = 0; i < names; ++i) {
    if (path.starts_with(paths_[i]) && path.size() > paths_[i].size() && path[paths_[i].size()] == '/')
      return i;
  }
  return names;
}

void recipe_ledger::changed(const transaction& t) {
  using kind = transaction::kind;
  if (t.type == kind::set) return written(t);
  std::set<std::size_t> concerned;
  const auto concern = [&](const std::string& path) {
    if (const std::size_t name = name_at(path); name != names) concerned.insert(name);
  };
  if (t.type == kind::create || t.type == kind::replace) {
    if (t.session != 0) {
      claimed& c = claimed_[t.path];
      c.session = t.session;
      c.data = {without_request(t.data)};
      c.as = zookeeper::parse(layout_, last_part_of(t.path));
      c.made_by = c.as && c.as->guid ? maker_of_alias(*c.as->guid) : 0;
      ++nodes_of_[c.made_by];
    }
    concern(t.path);
  }
  if (t.type == kind::remove) {
    went(t, t.path);
    concern(t.path);
  } else {
    for (const std::string& path : t.gone) {
      went(t, path);
      concern(path);
    }
  }
  for (const std::size_t name : concerned) {
    decide_anew(name);
    if (t.type != kind::create) require_beliefs_true(name);
  }
}

void recipe_ledger::went(const transaction& t, const std::string& path) {
  const auto found = claimed_.find(path);
  if (found == claimed_.end()) return;
  const std::int64_t session = found->second.session;
  const maker made_by = found->second.made_by;
  claimed_.erase(found);
  gone_[path] = session;
  if (--nodes_of_[made_by] == 0) nodes_of_.erase(made_by);
  const std::size_t name = name_at(path);
  const bool forced = name != names && is_force_released(name) && t.type == transaction::kind::remove;
  if (session == t.by && !forced) return;
  ended_by_hand_.insert(made_by);
  if (name != names) broken(name);
}

bool recipe_ledger::is_force_released(std::size_t name) const {
  const auto& all = force_released_until_[name];
  return std::any_of(all.begin(), all.end(), [&](const auto& each) {
    const auto& [by, until] = each;
    return in_.now < until && (until != never || by.first->life() == by.second);
  });
}

void recipe_ledger::decide_anew(std::size_t name) {
  auto now = name < locks ? holders_of_lock(name) : holders_of_permits(name);
  for (const holder& h : holders_[name]) {
    for (const std::string& node : h.nodes) holding_nodes_.erase(node);
  }
  std::sort(now.begin(), now.end(), [](const holder& a, const holder& b) { return a.token < b.token; });
  for (const holder& h : now) {
    for (const std::string& node : h.nodes) holding_nodes_.insert(node);
    if (!grants_.emplace(h.token, last_grant_ + 1).second) continue;
    last_of_[h.made_by] = ++last_grant_;
    in_.note("store grants", name, h.token, last_grant_);
  }
  holders_[name] = std::move(now);
}

bool recipe_ledger::is_before(const std::string& queue, const contender& one, const contender& other) const {
  if (zookeeper::is_of_the_end(one.number) && zookeeper::is_of_the_end(other.number)) {
    // Who came first; a reader's node that was a writer's counts as that.
    const auto came = [&](const contender& c) {
      const znode& n = *servers_.decided().find(queue + '/' + c.node);
      const auto note = zookeeper::read_note(n.data);
      return note && note->token ? static_cast<std::int64_t>(note->token.value()) : n.created;
    };
    return came(one) < came(other);
  }
  // A writer that is about to be a reader has both nodes, under one number; as a writer it is the first.
  return one.number != other.number ? zookeeper::is_before(one.number, other.number)
                                    : one.excludes() && !other.excludes();
}

/// The first; or all readers before the first who excludes others.
std::vector<recipe_ledger::holder> recipe_ledger::holders_of_lock(std::size_t name) const {
  const znode* const queue = servers_.decided().find(paths_[name]);
  if (queue == nullptr) return {};
  std::vector<const claimed*> all;
  for (const std::string& child : queue->children) {
    const auto found = claimed_.find(paths_[name] + '/' + child);
    if (found != claimed_.end() && found->second.as) all.push_back(&found->second);
  }
  std::sort(all.begin(), all.end(),
            [&](const claimed* a, const claimed* b) { return is_before(paths_[name], *a->as, *b->as); });
  std::vector<holder> holding;
  for (const claimed* c : all) {
    const bool excludes = c->as->excludes();
    if (excludes && !holding.empty()) break;
    const std::string path = paths_[name] + '/' + c->as->node;
    const auto token = static_cast<std::uint64_t>(servers_.decided().find(path)->created);
    holding.push_back({c->made_by, excludes ? store::full_capacity : 1, token, {path}});
    if (excludes) break;
  }
  return holding;
}

/// Those who have as many leases as they wanted, at the moment when there were no more of them than permits.
/// As long as the leases are there, so is the hold.
std::vector<recipe_ledger::holder> recipe_ledger::holders_of_permits(std::size_t name) const {
  const std::string below = paths_[name] + "/leases";
  const znode* const leases = servers_.decided().find(below);
  if (leases == nullptr) return {};
  std::vector<holder> all;
  for (const std::string& child : leases->children) {
    const std::string path = below + '/' + child;
    const znode& n = *servers_.decided().find(path);
    const maker made_by = claimed_.at(path).made_by;
    auto same = std::find_if(all.begin(), all.end(), [&](const holder& h) { return h.made_by == made_by; });
    if (same == all.end()) same = all.insert(all.end(), {made_by, 0, 0, {}});
    const auto note = zookeeper::read_note(n.data);
    same->weight = note ? note->permits : 1;
    same->token = std::max(same->token, static_cast<std::uint64_t>(n.created));
    same->nodes.push_back(path);
  }
  const bool fits = std::ssize(leases->children) <= capacity_of(name);
  std::erase_if(all, [&](const holder& h) {
    const bool complete = h.nodes.size() == static_cast<std::size_t>(h.weight);
    return !complete || (!fits && !grants_.contains(h.token));
  });
  return all;
}

/// What is believed has to be so, at every moment: whoever comes next may hold from now on.
void recipe_ledger::require_beliefs_true(std::size_t name) const {
  if (sees_ == nullptr) return;
  for (const witness::belief& b : sees_->beliefs(name)) {
    if (!witness::is_held(b)) continue;
    const maker made_by = maker_of(b.lease->hold.owner);
    if (ended_by_hand_.contains(made_by)) continue;
    const bool alone = name < locks && witness::weight_of(b) == store::full_capacity;
    const auto held = std::find_if(holders_[name].begin(), holders_[name].end(), [&](const holder& h) {
      return h.made_by == made_by && (!alone || h.weight == store::full_capacity);
    });
    if (held != holders_[name].end()) continue;
    in_.violated("believed, and not held any more at the servers: " + name_of(name) + ", token " +
                 std::to_string(b.lease->hold.token.value()) + ", client " + std::to_string(b.at->number()));
  }
}

void recipe_ledger::notified(const store::notification& n) {
  const bool is_asked = n.kind == store::notification_kind::release_requested;
  if (is_asked && !requested_.contains(maker_of(n.owner)))
    in_.violated("told of a request to release that nobody has written");
  if (n.kind != store::notification_kind::revoked || is_ended_by_hand(n.owner)) return;
  for (const auto& all : holders_) {
    for (const holder& h : all) {
      if (h.made_by == maker_of(n.owner)) in_.violated("told of an end that has not come");
    }
  }
}

/// Whoever waits to exclude others waits for one node alone.
void recipe_ledger::woken(const std::string& path, std::int64_t session) {
  const auto c = zookeeper::parse(layout_, last_part_of(path));
  const auto former = gone_.find(path);
  const std::size_t name = name_at(path);
  if (name == 0 || name == names) return;  // it has readers, who all wait for the same writer
  // Who was ended by hand does not know at once that it has nothing to wait for any more.
  if (broken_at(name) != instant::min() && broken_at(name) + 10s > in_.now) return;
  if (!c || c->wants != role::mutex || former == gone_.end() || session == former->second) return;
  auto& all = woken_[path];
  all.insert(session);
  if (all.size() > 1) in_.violated("one release woke many: " + path);
}

bool recipe_ledger::answers_for(const owner_id& owner) const { return nodes_of_.contains(maker_of(owner)); }

ledger::grant recipe_ledger::grant_of(const store::hold& h) const {
  if (const auto found = grants_.find(h.token.value()); found != grants_.end()) return {found->second, 0};
  if (is_ended_by_hand(h.owner)) return {};
  // A client that makes tokens of its own is found out by these.
  const auto last = last_of_.find(maker_of(h.owner));
  return last == last_of_.end() ? grant{} : grant{last->second, 0};
}

std::string recipe_ledger::leftover() const {
  return claimed_.empty() ? std::string{} : claimed_.begin()->first;
}

}  // namespace holdfast::sim
