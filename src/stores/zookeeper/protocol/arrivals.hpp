#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/link.hpp"
#include "core/scheduler.hpp"
#include "stores/zookeeper/protocol/claim_table.hpp"
#include "stores/zookeeper/protocol/wire_nodes.hpp"

namespace holdfast::zookeeper {

/// A new claim: the creation of its node, and the handler of the answer.
struct arrival {
  claim_ref ref;
  tickets::link::on_reply handler;
  std::optional<result> made{};  // none: the creation was not answered
};

/// Puts claims into their queues: it creates a claim's node and then lists the queue, in one round trip.
///
/// If many claims come at once, a bounded number of creations is in flight, and one listing for each queue.
/// It serves all claims whose creation was sent before it: a listing for each claim would cost n * n names.
class arrivals {
 public:
  using arrival_ptr = std::shared_ptr<arrival>;
  /// Gets the lists of a queue, and of the lock's node for permits, with the claims that they serve.
  /// \param is_current the answers are from the current session.
  using on_listed =
      std::function<void(const std::vector<arrival_ptr>& served, std::vector<result> lists, bool is_current)>;

  /// All must outlive it.
  arrivals(store::scheduler& time, wire_nodes& nodes, claim_table& claims, on_listed handler)
      : time_{time}, nodes_{nodes}, claims_{claims}, on_listed_{std::move(handler)} {}
  arrivals(const arrivals&) = delete;
  arrivals& operator=(const arrivals&) = delete;

  void add(arrival a);
  /// The session has ended, and its answers may never arrive: the next session begins without them.
  void expired();

 private:
  struct line {
    bool listing = false;
    std::vector<arrival_ptr> next;  // served by the next listing
  };

  void create_next();
  void list_next(const std::string& queue, const std::string& base);
  void fail(const arrival_ptr& a, bool maybe_executed);

  store::scheduler& time_;
  wire_nodes& nodes_;
  claim_table& claims_;
  const on_listed on_listed_;
  std::uint64_t sessions_ended_ = 0;
  std::deque<arrival_ptr> coming_;     // creation not sent yet
  std::size_t creations_ = 0;          // in flight, of this session
  std::map<std::string, line> lines_;  // by queue
};

}  // namespace holdfast::zookeeper
