// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/link.hpp"
#include "core/request.hpp"
#include "stores/zookeeper/protocol/survey.hpp"
#include "stores/zookeeper/protocol/wire_nodes.hpp"

namespace holdfast::zookeeper {

/// Reads the state of one name or of all names, and the holds that an operator wants to end. It does not use
/// the client's own claims, and changes nothing at the servers.
///
/// - It reads after a vote, so it sees everything that any client was told before the call. A `sync` is not
/// enough: the leader answers a `sync` of its own clients at once (CommitProcessor), and may carry out a
/// change later than a follower that has acknowledged it.
/// - Holders are decided from the nodes alone, as every recipe decides it (see `survey`).
/// - The number of reads in flight is bounded, whatever the number of claims and names, and so is the number
/// of children that are listed at once, but for those of one node.
class inspection {
 public:
  using on_reply = tickets::link::on_reply;
  using on_failed = std::function<void(store::request_error)>;

  /// \param nodes must outlive it.
  /// \param root empty, or the path below which the names are.
  /// \param timeout of the client's session: how long a dead holder may be shown.
  inspection(wire_nodes& nodes, std::string root, layout style, std::function<duration()> timeout)
      : nodes_{nodes}, root_{std::move(root)}, style_{style}, timeout_{std::move(timeout)} {}
  inspection(const inspection&) = delete;
  inspection& operator=(const inspection&) = delete;

  // As tickets::link has them.
  void inspect(const tickets::inspect& request, const on_reply& handler);
  void list(const tickets::list& request, const on_reply& handler);

  /// Finds the holds of a name with these tokens. One of the handlers is called.
  void find_holds(const std::string& name, fencing_token first, fencing_token last, const on_failed& failed,
                  std::function<void(std::vector<claimed>)> handler);

 private:
  struct look {
    std::string name;
    std::size_t waiters_read;
    on_failed failed;
    std::function<void(survey)> seen;
    int tries = 0;
  };
  struct walk;

  void catch_up(const on_failed& failed, std::function<void()> then);
  void look_at(const look& at);
  void decide(const look& at, const std::vector<result>& reads);
  void decided(const look& at, bool had_holders, survey seen);
  [[nodiscard]] std::optional<lock_state> state_in(const survey& seen, const std::string& name) const;
  void read_in_parts(const std::shared_ptr<std::vector<operation>>& steps, std::vector<result> so_far,
                     wire_nodes::on_results handler);

  void go_on(const std::shared_ptr<walk>& all);
  void visited(const std::shared_ptr<walk>& all, const result& node, result list);
  void describe(const std::shared_ptr<walk>& all, const std::string& name, const result& node, result list,
                bool has_parts);

  wire_nodes& nodes_;
  const std::string root_;
  const layout style_;
  const std::function<duration()> timeout_;
};

}  // namespace holdfast::zookeeper
