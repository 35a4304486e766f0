// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "simulation/mutant.hpp"
#include "stores/zookeeper/protocol/wire.hpp"

namespace holdfast::sim {

/// Stands between a session and its wire, and bends what goes through, so that the session does what a faulty
/// one would do. Without a mutant it changes nothing.
class faulty_wire final : public zookeeper::wire {
 public:
  faulty_wire(mutant which, wire& inner) : which_{which}, inner_{inner} {}

  void submit(zookeeper::operation op, on_result done) override;
  /// As which nodes' change the session is to hear of one.
  [[nodiscard]] std::vector<std::string> notified_paths(const std::string& path, zookeeper::change event);
  void in_session(std::int64_t id);
  /// The one that the session is to believe in.
  [[nodiscard]] std::int64_t session() const { return session_; }

 private:
  void create(zookeeper::operation op, on_result done);
  void replace(zookeeper::operation op, on_result done);
  void get(zookeeper::operation op, on_result done);
  void list(zookeeper::operation op, on_result done);
  [[nodiscard]] std::string nearest_taken_for(const std::string& path) const;
  [[nodiscard]] std::vector<std::string> with_own(const std::string& queue,
                                                  std::vector<std::string> children) const;
  void show_later_writers_earlier(const std::string& queue, std::vector<std::string>& children);
  void stand_for(const std::string& path, const std::string& real);

  mutant which_;
  wire& inner_;
  std::int64_t session_ = 0;
  std::uint32_t made_ = 0;
  std::set<std::string> own_;
  std::map<std::string, std::vector<std::string>> present_;  // by queue, as listed last
  std::set<std::string> open_;                               // queues taken to be free
  std::map<std::string, std::string> real_;                  // what the session calls a node -> the node
  std::map<std::string, std::set<std::string>> called_;
};

}  // namespace holdfast::sim
