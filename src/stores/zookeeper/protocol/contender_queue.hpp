// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "stores/zookeeper/protocol/layout.hpp"

namespace holdfast::zookeeper {

/// The contenders of one queue, as one client knows them: those that it has read, less those whose end it has
/// noticed or can conclude. The contenders ahead of another can only become fewer, so one listing serves all
/// later claims of the client, and no hand-over needs a new one.
///
/// It may contain contenders that have gone. It never lacks one that is ahead of a claim of this client.
class contender_queue {
 public:
  explicit contender_queue(layout style) : style_{style} {}

  /// Takes all children of the lock's node, which were read just now.
  /// \return a contender of the other layout among them.
  std::optional<std::string> read(const std::vector<std::string>& children) {
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
  /// Called when a node is gone.
  void gone(std::string_view node) {
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
  /// Called when a contender holds: no conflicting contender is ahead of it any more.
  void holds(const contender& c) {
    const queue& waited_for = waited_for_by(c.wants);
    const place own{c.number, {}};
    while (!waited_for.empty() && earlier{}(*waited_for.begin(), own)) gone(waited_for.begin()->node);
    if (c.wants == role::reader) return;
    std::erase_if(possible_readers_, [&](const auto& each) { return is_before(each.second, c.number); });
  }

  /// The contenders ahead of a claim for which it has to wait: their nodes, the last of them first.
  /// \param most of them are returned.
  [[nodiscard]] std::vector<std::string> before(const contender& c, std::size_t most) const {
    const queue& waited_for = waited_for_by(c.wants);
    std::vector<std::string> nearest;
    // The only other node with this number is the claim's former node, from before its downgrade.
    auto it = waited_for.lower_bound({c.number, {}});
    while (it != waited_for.begin() && nearest.size() < most) nearest.emplace_back((--it)->node);
    return nearest;
  }

  /// Whether the order is unknown, because `c` and another contender have numbers from the end of the counter
  /// (see is_of_the_end). A contender that sees no other such number when it arrives came first: all others
  /// see its node.
  [[nodiscard]] bool cannot_order(const contender& c) const {
    if (!is_of_the_end(c.number)) return false;
    return std::any_of(known_.begin(), known_.end(), [&](const auto& each) {
      return is_of_the_end(each.second.number) && each.first != c.node;
    });
  }

  /// Whether readers may be missing: a writer that has gone may have become a reader with its own number,
  /// after the last read. A claim that also waits for readers has to read again.
  [[nodiscard]] bool may_lack_readers() const { return may_lack_readers_; }

  /// The nodes of such readers, for writers of this library, which gives the reader's node the writer's guid.
  /// `c` has to wait for them, and no other nodes may be missing. After a look at one, `reader_looked_up`
  /// has to be called.
  [[nodiscard]] std::vector<std::string> possible_readers(const contender& c) const {
    std::vector<std::string> all;
    if (c.wants == role::reader) return all;
    for (const auto& [node, number] : possible_readers_) {
      if (is_before(number, c.number)) all.push_back(node);
    }
    return all;
  }
  [[nodiscard]] bool is_possible_reader(const std::string& node) const {
    return possible_readers_.contains(node);
  }
  void reader_looked_up(const std::string& node, bool is_there) {
    possible_readers_.erase(node);
    const auto c = parse(style_, node);
    if (is_there && c && !known_.contains(node)) add(*c);
  }

 private:
  struct place {
    std::int32_t number;
    std::string_view node;  // the key in `known_`
  };
  struct earlier {
    bool operator()(const place& one, const place& other) const {
      return one.number != other.number ? is_before(one.number, other.number) : one.node < other.node;
    }
  };
  using queue = std::set<place, earlier>;
  struct known {
    std::int32_t number;
    role wants;
    std::uint64_t read;  // the number of the read that saw it last
  };
  struct hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  // Each arrival reads a list of possibly thousands. Nearly all of it is known, and costs a look-up only.
  using nodes = std::unordered_map<std::string, known, hash, std::equal_to<>>;

  [[nodiscard]] const queue& waited_for_by(role wants) const {
    return wants == role::reader ? writers_ : all_;
  }
  void add(const contender& c) {
    const auto added = known_.emplace(c.node, known{c.number, c.wants, reading_}).first;
    const place at{c.number, added->first};
    all_.insert(at);
    if (c.excludes()) writers_.insert(at);
  }
  nodes::iterator remove(nodes::iterator entry) {
    const place at{entry->second.number, entry->first};
    all_.erase(at);
    writers_.erase(at);
    return known_.erase(entry);
  }

  layout style_;
  nodes known_;
  queue all_;
  queue writers_;  // of them, those that exclude readers
  std::uint64_t reading_ = 0;
  bool may_lack_readers_ = false;
  std::map<std::string, std::int32_t> possible_readers_;
};

}  // namespace holdfast::zookeeper
