// SPDX-License-Identifier: Apache-2.0
#include "simulation/zookeeper/faulty_wire.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "simulation/zookeeper/znodes.hpp"
#include "stores/zookeeper/protocol/layout.hpp"

namespace holdfast::sim {

using zookeeper::answer;
using zookeeper::operation;
using zookeeper::operation_kind;
using zookeeper::result;

namespace {

constexpr std::string_view protection = "/_c_";
constexpr std::string_view reader = "-__READ__";

std::optional<zookeeper::contender> contender_at(const std::string& path) {
  return zookeeper::parse(zookeeper::layout::curator, last_part_of(path));
}

}  // namespace

void faulty_wire::submit(operation op, on_result done) {
  if (which_ == mutant::none) return inner_.submit(std::move(op), std::move(done));
  switch (op.kind) {
    case operation_kind::create: return create(std::move(op), std::move(done));
    case operation_kind::exists:
    case operation_kind::get: return get(std::move(op), std::move(done));
    case operation_kind::replace: return replace(std::move(op), std::move(done));
    case operation_kind::list: return list(std::move(op), std::move(done));
    case operation_kind::set:
      if (which_ == mutant::request_overwrites_data && !own_.contains(op.path) && contender_at(op.path))
        op.data = "__REVOKE__";
      break;
    default: break;
  }
  if (const auto found = real_.find(op.path); found != real_.end()) op.path = found->second;
  if (which_ != mutant::delete_not_retried || op.kind != operation_kind::remove) {
    return inner_.submit(std::move(op), std::move(done));
  }
  inner_.submit(std::move(op), [done = std::move(done)](result r) {
    if (r.code == answer::unknown || r.code == answer::not_sent) r.code = answer::done;
    done(std::move(r));
  });
}

void faulty_wire::create(operation op, on_result done) {
  const std::string queue = parent_of(op.path);
  if (op.make == operation::made::sequential) open_.erase(queue);
  if (which_ == mutant::create_without_guid && op.make == operation::made::sequential) {
    std::array<char, 16> other{};
    std::snprintf(other.data(), other.size(), "%08x", ++made_);
    op.path.replace(op.path.rfind(protection) + protection.size(), 8, other.data());
  }
  inner_.submit(std::move(op), [this, done = std::move(done)](result r) {
    if (r.code == answer::done) own_.insert(r.path);
    done(std::move(r));
  });
}

void faulty_wire::replace(operation op, on_result done) {
  if (const auto found = real_.find(op.former); found != real_.end()) op.former = found->second;
  if (which_ != mutant::downgrade_renumbered) return inner_.submit(std::move(op), std::move(done));
  operation removal{.kind = operation_kind::remove, .path = op.former};
  const std::string path = op.path;
  op.kind = operation_kind::create;
  op.make = operation::made::sequential;
  op.path.resize(op.path.rfind(reader) + reader.size());
  inner_.submit(std::move(op), [this, path](const result& r) {
    if (r.code == answer::done) stand_for(path, r.path);
  });
  inner_.submit(std::move(removal), [path, done = std::move(done)](result r) {
    r.path = path;
    done(std::move(r));
  });
}

void faulty_wire::get(operation op, on_result done) {
  const std::string path = op.path;
  const bool of_another = !own_.contains(path) && contender_at(path);
  if (const auto found = real_.find(path); found != real_.end()) op.path = found->second;
  if (which_ == mutant::wrong_neighbour && of_another && op.watch) {
    op.path = nearest_taken_for(path);
    stand_for(path, op.path);
  }
  const bool denied = of_another && open_.contains(parent_of(path));
  const bool is_unseen = which_ == mutant::request_unheard && op.watch && own_.contains(path);
  inner_.submit(std::move(op), [this, path, denied, is_unseen, done = std::move(done)](result r) {
    r.path = path;
    if (is_unseen) r.data.clear();
    if (denied && r.code == answer::done) r.code = answer::no_node;
    if (which_ == mutant::former_session_taken) r.about.session = session_;
    done(std::move(r));
  });
}

void faulty_wire::list(operation op, on_result done) {
  inner_.submit(std::move(op), [this, queue = op.path, done = std::move(done)](result r) {
    const std::vector<std::string> before = std::exchange(present_[queue], r.children);
    if (which_ == mutant::listing_too_early && r.code == answer::done) r.children = with_own(queue, before);
    if (which_ == mutant::reader_waits_on_later) show_later_writers_earlier(queue, r.children);
    done(std::move(r));
  });
}

std::vector<std::string> faulty_wire::notified_paths(const std::string& path, zookeeper::change event) {
  if (which_ == mutant::none) return {path};
  if (which_ == mutant::gave_up_taken_as_release && event == zookeeper::change::removed &&
      !own_.contains(path) && contender_at(path)) {
    open_.insert(parent_of(path));
  }
  const auto found = called_.find(path);
  if (found == called_.end()) return {path};
  std::vector<std::string> all;
  for (const std::string& known : found->second) {
    real_.erase(known);
    all.push_back(known);
  }
  called_.erase(found);
  return all;
}

void faulty_wire::in_session(std::int64_t id) {
  if (which_ != mutant::former_session_taken || session_ == 0) session_ = id;
}

void faulty_wire::stand_for(const std::string& path, const std::string& real) {
  real_[path] = real;
  called_[real].insert(path);
}

/// The first of all instead of the nearest.
std::string faulty_wire::nearest_taken_for(const std::string& path) const {
  const std::string queue = parent_of(path);
  const auto found = present_.find(queue);
  auto first = contender_at(path);
  if (found == present_.end()) return path;
  for (const std::string& child : found->second) {
    const auto c = contender_at(queue + '/' + child);
    if (c && !own_.contains(queue + '/' + child) && zookeeper::is_before(c->number, first->number)) first = c;
  }
  return queue + '/' + first->node;
}

/// What an earlier listing said, and where its own nodes stand, which their creation has said.
std::vector<std::string> faulty_wire::with_own(const std::string& queue,
                                               std::vector<std::string> children) const {
  for (auto own = own_.lower_bound(queue + '/'); own != own_.end() && own->starts_with(queue + '/'); ++own) {
    const std::string node = own->substr(queue.size() + 1);
    if (node.find('/') == std::string::npos &&
        std::find(children.begin(), children.end(), node) == children.end()) {
      children.push_back(node);
    }
  }
  return children;
}

void faulty_wire::show_later_writers_earlier(const std::string& queue, std::vector<std::string>& children) {
  std::optional<std::int32_t> reads;
  for (const std::string& child : children) {
    const auto c = contender_at(queue + '/' + child);
    if (c && c->wants == zookeeper::role::reader && own_.contains(queue + '/' + child)) reads = c->number;
  }
  if (!reads) return;
  for (std::string& child : children) {
    const auto c = contender_at(queue + '/' + child);
    if (!c || !c->excludes() || !zookeeper::is_before(*reads, c->number)) continue;
    std::array<char, 16> digits{};
    std::snprintf(digits.data(), digits.size(), "%010d", *reads - 1);
    const std::string real = queue + '/' + child;
    const std::size_t marker =
        child.rfind('_') != std::string::npos ? child.find_last_not_of("0123456789") : 0;
    child.resize(marker + 1);
    child += digits.data();
    stand_for(queue + '/' + child, real);
  }
}

}  // namespace holdfast::sim
