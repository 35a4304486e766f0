// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "stores/zookeeper/protocol/wire.hpp"

namespace holdfast::sim {

/// A change that the leader has decided upon, as all servers carry it out, in the order of their numbers.
struct transaction {
  enum class kind : std::uint8_t { create, set, remove, begin_session, end_session, replace, nothing };

  kind type{};
  std::int64_t number = 0;  // zxid
  std::string path{};
  std::string data{};
  std::int64_t session = 0;  // of an ephemeral node; or the one that begins or ends
  std::int64_t by = 0;       // the session that asked for it; zero: an operator
  std::int64_t wall_ms = 0;
  bool container = false;
  std::int32_t first_number = 0;    // of its children
  std::int32_t parent_version = 0;  // of a new node's parent
  std::vector<std::string> gone{};  // the nodes that go with a session, or for the new one
};

struct znode {
  std::string data;
  std::int64_t created = 0;     // czxid
  std::int64_t changed = 0;     // mzxid
  std::int64_t last_child = 0;  // pzxid
  std::int64_t session = 0;
  std::int64_t created_ms = 0;
  /// cversion: children that it has ever had, which is where their numbers come from. It stays at its end.
  std::int32_t version = 0;
  bool container = false;
  std::set<std::string, std::less<>> children;
};

/// What one server knows.
class znodes {
 public:
  znodes() { all_["/"]; }

  void apply(const transaction& t);
  [[nodiscard]] const znode* find(const std::string& path) const;
  [[nodiscard]] static zookeeper::status about(const znode& n);
  /// The paths, in their order, of those for which `is` holds.
  template <class Predicate>
  [[nodiscard]] std::vector<std::string> paths_of(Predicate is) const {
    std::vector<std::string> paths;
    for (const auto& [path, n] : all_) {
      if (is(path, n)) paths.push_back(path);
    }
    std::sort(paths.begin(), paths.end());
    return paths;
  }
  /// The last change that it knows of.
  [[nodiscard]] std::int64_t last() const { return last_; }

 private:
  void create(const transaction& t);
  void remove(const std::string& path, std::int64_t number);

  std::unordered_map<std::string, znode> all_;
  std::int64_t last_ = 0;
};

[[nodiscard]] std::string parent_of(const std::string& path);
[[nodiscard]] std::string last_part_of(const std::string& path);

}  // namespace holdfast::sim
