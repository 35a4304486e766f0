#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "stores/redis/link/node.hpp"
#include "stores/redis/protocol/slot_map.hpp"

namespace holdfast::redis {

/// The names of a cluster that are watched, each at the server that has its slot. Under the core lock.
class tracked_names {
 public:
  struct nodes {
    /// By the place; null if it was left.
    std::function<std::shared_ptr<node>(const std::string& place)> find;
    /// \throws holdfast::error errc::exhausted.
    std::function<std::shared_ptr<node>(const server_address&)> reach;
  };

  tracked_names(std::string prefix, nodes of) : prefix_{std::move(prefix)}, nodes_{std::move(of)} {}

  /// \return whether a server is known for it.
  bool add(const std::string& name, const slot_map& map);
  void remove(const std::string& name);
  /// The map has changed.
  void follow(const slot_map& map);
  /// The server at that place is left. One that comes back there later tracks nothing.
  void forget(const std::string& place);

 private:
  void track(const std::string& name, const std::string& place, bool on) const;

  const std::string prefix_;
  const nodes nodes_;
  std::map<std::string, std::string> places_;  // by name; empty: no server is known
};

}  // namespace holdfast::redis
