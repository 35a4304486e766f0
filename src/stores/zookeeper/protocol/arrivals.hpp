#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/scheduler.hpp"
#include "stores/zookeeper/protocol/claim.hpp"
#include "stores/zookeeper/protocol/ordered_nodes.hpp"

namespace holdfast::zookeeper {

/// A new claim: the creation of its node, and the handler of the answer.
struct arrival {
  claim_ref ref;
  tickets::link::on_reply handler;
  int tries = 0;
  std::optional<result> made{};  // none: the creation was not answered
};

/// The result of one listing of a queue, for all claims whose nodes were sent before it.
struct listing {
  result queue;
  std::optional<std::string> stranger{};  // a contender of the other layout
  bool other_kind = false;                // the queue of possibly another kind of lock
};

/// Puts claims into their queues: it creates a claim's node and then lists the queue, in one round trip.
///
/// If many claims come at once, a bounded number of creations is in flight, and one listing for each queue.
/// It serves all claims whose creation was sent before it: a listing for each claim would cost n * n names.
class arrivals {
 public:
  /// A node to be created.
  struct creation {
    std::string queue;
    std::string base;  // the lock's node: the queue itself, but for permits
    operation step;
  };
  /// The owner of the claims.
  class host {
   public:
    host() = default;
    host(const host&) = delete;
    host& operator=(const host&) = delete;

    /// Called when the claim's node is sent.
    /// \return nothing if the claim was given up.
    virtual std::optional<creation> begin_creation(const claim_ref& ref) = 0;
    /// \param children of the queue, and of the lock's node for permits.
    /// \param is_current the answer is from the current session.
    virtual listing read_queue(const std::string& queue, std::vector<result> children, bool is_current) = 0;
    virtual void entered(const arrival& a, const listing& l) = 0;

   protected:
    ~host() = default;
  };

  /// All must outlive it.
  arrivals(store::scheduler& time, ordered_nodes& nodes, host& claims)
      : time_{time}, nodes_{nodes}, host_{claims} {}
  arrivals(const arrivals&) = delete;
  arrivals& operator=(const arrivals&) = delete;

  void add(arrival a);
  /// The session has ended, and its answers may never arrive: the next session begins without them.
  void expired();

 private:
  using arrival_ptr = std::shared_ptr<arrival>;
  struct line {
    bool listing = false;
    std::vector<arrival_ptr> next;  // served by the next listing
  };

  void create_next();
  void list_next(const std::string& queue, const std::string& base);
  void fail(const arrival_ptr& a, bool maybe_executed);

  store::scheduler& time_;
  ordered_nodes& nodes_;
  host& host_;
  std::uint64_t sessions_ended_ = 0;
  std::deque<arrival_ptr> coming_;     // creation not sent yet
  std::size_t creations_ = 0;          // in flight, of this session
  std::map<std::string, line> lines_;  // by queue
};

}  // namespace holdfast::zookeeper
