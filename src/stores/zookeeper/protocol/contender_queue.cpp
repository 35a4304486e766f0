#include "stores/zookeeper/protocol/contender_queue.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::zookeeper {

std::optional<std::string> contender_queue::read(const std::vector<std::string>& children) {
  const layout other = style_ == layout::curator ? layout::kazoo : layout::curator;
  std::optional<std::string> stranger;
  ++reading_;
  for (const std::string& node : children) {
    if (const auto found = known_.find(node); found != known_.end()) {
      found->second.read = reading_;
      continue;
    }
    const auto c = parse(style_, node);
    if (!c) {
      if (!stranger && parse(other, node)) stranger = node;
      continue;
    }
    add(*c);
  }
  for (auto it = known_.begin(); it != known_.end();) {
    it = it->second.read == reading_ ? std::next(it) : remove(it);
  }
  may_lack_readers_ = false;
  possible_readers_.clear();
  return stranger;
}

void contender_queue::add(const contender& c) {
  const auto added = known_.emplace(c.node, known{c.number, c.wants, reading_}).first;
  const place at{c.number, added->first};
  all_.insert(at);
  if (c.excludes()) writers_.insert(at);
}

contender_queue::nodes::iterator contender_queue::remove(nodes::iterator entry) {
  const place at{entry->second.number, entry->first};
  all_.erase(at);
  writers_.erase(at);
  return known_.erase(entry);
}

void contender_queue::gone(std::string_view node) {
  const auto found = known_.find(node);
  if (found == known_.end()) return;
  if (found->second.wants == role::writer) {
    const auto writer = parse(style_, node);
    if (writer->guid && is_marked_as_ours(*writer->guid)) {
      possible_readers_[downgraded(style_, writer->number, *writer->guid)] = writer->number;
    } else {
      may_lack_readers_ = true;
    }
  }
  remove(found);
}

std::vector<std::string> contender_queue::possible_readers(const contender& c) const {
  std::vector<std::string> all;
  if (c.wants == role::reader) return all;
  for (const auto& [node, number] : possible_readers_) {
    if (is_before(number, c.number)) all.push_back(node);
  }
  return all;
}

void contender_queue::came(const std::string& node) {
  possible_readers_.erase(node);
  const auto c = parse(style_, node);
  if (c && !known_.contains(node)) add(*c);
}

void contender_queue::holds(const contender& c) {
  const queue& waited_for = waited_for_by(c.wants);
  const place own{c.number, {}};
  while (!waited_for.empty() && earlier{}(*waited_for.begin(), own)) gone(waited_for.begin()->node);
  if (c.wants == role::reader) return;
  std::erase_if(possible_readers_, [&](const auto& each) { return is_before(each.second, c.number); });
}

contender_queue::ahead contender_queue::before(const contender& c, std::size_t enough) const {
  const queue& waited_for = waited_for_by(c.wants);
  ahead result;
  // The only other node with this number is the claim's former node, from before its downgrade.
  auto it = waited_for.lower_bound({c.number, {}});
  while (it != waited_for.begin() && result.count < enough) {
    --it;
    ++result.count;
    result.nearest.emplace_back(it->node);
  }
  return result;
}

bool contender_queue::cannot_order(const contender& c) const {
  if (!is_of_the_end(c.number)) return false;
  return std::any_of(known_.begin(), known_.end(), [&](const auto& each) {
    return is_of_the_end(each.second.number) && each.first != c.node;
  });
}

}  // namespace holdfast::zookeeper
