// SPDX-License-Identifier: Apache-2.0
#include "simulation/zookeeper/znodes.hpp"

namespace holdfast::sim {

std::string parent_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string last_part_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

void znodes::apply(const transaction& t) {
  last_ = t.number;
  switch (t.type) {
    case transaction::kind::create: return create(t);
    case transaction::kind::replace:
      create(t);
      for (const std::string& path : t.gone) remove(path, t.number);
      return;
    case transaction::kind::set: {
      znode& n = all_.at(t.path);
      n.data = t.data;
      n.changed = t.number;
      return;
    }
    case transaction::kind::remove: return remove(t.path, t.number);
    case transaction::kind::end_session:
      for (const std::string& path : t.gone) remove(path, t.number);
      return;
    case transaction::kind::begin_session:
    case transaction::kind::nothing: return;
  }
}

void znodes::create(const transaction& t) {
  znode& parent = all_.at(parent_of(t.path));
  if (t.parent_version > parent.version) {
    parent.version = t.parent_version;
    parent.last_child = t.number;
  }
  parent.children.insert(last_part_of(t.path));
  znode& n = all_[t.path];
  n.data = t.data;
  n.created = n.changed = n.last_child = t.number;
  n.session = t.session;
  n.created_ms = t.wall_ms;
  n.container = t.container;
  n.version = t.first_number;
}

void znodes::remove(const std::string& path, std::int64_t number) {
  znode& parent = all_.at(parent_of(path));
  parent.last_child = number;
  parent.children.erase(last_part_of(path));
  all_.erase(path);
}

const znode* znodes::find(const std::string& path) const {
  const auto found = all_.find(path);
  return found == all_.end() ? nullptr : &found->second;
}

zookeeper::status znodes::about(const znode& n) {
  zookeeper::status s;
  s.created = n.created;
  s.last_child = n.last_child;
  s.session = n.session;
  s.created_ms = n.created_ms;
  s.child_count = static_cast<std::int32_t>(n.children.size());
  return s;
}

}  // namespace holdfast::sim
