// SPDX-License-Identifier: Apache-2.0
#include "simulation/zookeeper/foreign_contender.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace holdfast::sim {

using namespace std::chrono_literals;
using zookeeper::answer;
using zookeeper::operation;
using zookeeper::operation_kind;
using zookeeper::role;

std::string foreign_contender::new_node(role wants) {
  const owner_id drawn_id = drawn(in_.chance);
  owner_id::bytes_type random{};
  std::copy_n(drawn_id.bytes().begin(), owner_id::size, random.begin());
  random[6] =
      static_cast<std::uint8_t>((random[6] & 0x0FU) | 0x40U);  // as java.util.UUID and Python's have it
  return zookeeper::node_name(layout_, wants, owner_id{random});
}

void foreign_contender::live() {
  ++life_;
  if (!retired_) after(in_.chance.between(0ms, 2s), [this] { come(); });
}

void foreign_contender::retire() {
  retired_ = true;
  ++life_;
  after(in_.chance.between(0ms, 200ms), [this] { go(); });
}

bool foreign_contender::create(std::string& node, const std::string& path, operation::made make) {
  const auto r = servers_.propose(
      {.kind = operation_kind::create, .path = path, .data = "10.0.0.1", .make = make}, session_);
  if (!r || r->code != answer::done) return false;
  node = r->path;
  return true;
}

void foreign_contender::remove(std::string& node) {
  if (node.empty()) return;
  const auto r = servers_.propose({.kind = operation_kind::remove, .path = node}, session_);
  if (r) node.clear();
}

void foreign_contender::come() {
  if (session_ == 0) {
    const auto begun = servers_.begin_session();
    if (!begun) return live();
    session_ = *begun;
  }
  name_ = in_.chance.below(names);
  wants_ = name_ == 0 ? in_.chance.one_in(2) ? role::reader : role::writer : role::mutex;
  const std::string queue = counts_.path_of(name_) + (name_ < locks ? "" : "/locks");
  // It makes the parents as ours do, but leaves that to us as a rule.
  if (!create(node_, queue + '/' + new_node(wants_), operation::made::sequential)) return live();
  if (in_.chance.one_in(5)) {
    after(in_.chance.between(0ms, 500ms), [this] { in_.chance.one_in(3) ? die() : go(); });
  }
  look();
}

void foreign_contender::look() {
  if (name_ < locks ? counts_.holds(node_) : !lease_.empty() && counts_.holds(lease_)) return hold();
  if (servers_.decided().find(node_) == nullptr) return go();  // an operator removed it
  if (name_ >= locks && lease_.empty()) {
    // First in the queue: it may have a lease, and waits with it until there are few enough of them.
    const std::string queue = parent_of(node_);
    const znode* const q = servers_.decided().find(queue);
    const auto own = zookeeper::parse(layout_, last_part_of(node_));
    bool first = q != nullptr && own;
    if (first) {
      for (const std::string& child : q->children) {
        const auto c = zookeeper::parse(layout_, child);
        first = first && (!c || !counts_.is_before(queue, *c, *own));
      }
    }
    if (first) {
      static_cast<void>(create(lease_, counts_.path_of(name_) + "/leases/" + new_node(role::lease),
                               operation::made::sequential));
    }
  }
  after(in_.chance.between(5ms, 40ms), [this] { look(); });
}

void foreign_contender::hold() {
  ++holds_;
  if (name_ >= locks) remove(node_);
  const duration length = in_.chance.between(0ms, in_.chance.one_in(8) ? 2s : 200ms);
  if (wants_ == role::writer && in_.chance.one_in(2)) {
    after(in_.chance.between(0ms, length), [this] { downgrade(); });
  }
  after(length, [this] { in_.chance.one_in(8) ? die() : go(); });
}

/// As Curator's read lock does for a thread that has the write lock: a node of its own, with the writer's
/// number; and then the writer's goes.
void foreign_contender::downgrade() {
  const auto own = zookeeper::parse(layout_, last_part_of(node_));
  if (!own || servers_.decided().find(node_) == nullptr) return;  // an operator removed it
  if (zookeeper::is_of_the_end(own->number)) return;  // its number tells nobody that it was the first
  std::string lower;
  const std::string path =
      parent_of(node_) + '/' + zookeeper::downgraded(layout_, own->number, drawn(in_.chance));
  if (!create(lower, path, operation::made::ephemeral)) return;
  remove(node_);
  node_ = lower;
  wants_ = role::reader;
}

void foreign_contender::go() {
  ++life_;
  remove(lease_);
  remove(node_);
  if (!node_.empty() || !lease_.empty()) return after(50ms, [this] { go(); });
  if (retired_ && session_ != 0) servers_.end_session(std::exchange(session_, 0));
  live();
}

/// Its session ends some time later.
void foreign_contender::die() {
  ++life_;
  in_.note("another's client dies");
  in_.after(in_.chance.between(0ms, 2s),
            [this, id = std::exchange(session_, 0)] { servers_.end_session(id); });
  node_.clear();
  lease_.clear();
  live();
}

}  // namespace holdfast::sim
