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

/// A claim that comes: its node's creation, and whom to answer.
struct arrival {
  claim_ref ref;
  tickets::link::on_reply handler;
  int tries = 0;
  std::optional<result> made{};  // none: the creation was not answered
};

/// What one listing of a queue says to all claims whose nodes were sent before it.
struct listing {
  result queue;
  std::optional<std::string> stranger{};  // a contender of the other layout
  bool other_kind = false;                // the queue of what may be another kind of lock
};

/// How claims come into their queues: a claim's node is created and the queue listed after it, both in one
/// round trip.
///
/// Where many come at once, so many creations are in flight, and one listing a queue, which serves all whose
/// creation was sent before it: a listing for each would cost n * n names.
class arrivals {
 public:
  /// A node to be created.
  struct creation {
    std::string queue;
    std::string base;  // the lock's node: the queue itself, but for permits
    operation step;
  };
  /// Whose claims they are.
  class host {
   public:
    host() = default;
    host(const host&) = delete;
    host& operator=(const host&) = delete;

    /// The claim's node is sent now.
    /// \return nothing if the claim was given up.
    virtual std::optional<creation> begin_creation(const claim_ref& ref) = 0;
    /// \param children of the queue, and of the lock's node for permits.
    /// \param is_current the session is the one that was asked.
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
  /// The session has ended, and its answers may never come: the next one begins without them.
  void expired();

 private:
  using arrival_ptr = std::shared_ptr<arrival>;
  struct line {
    bool listing = false;
    std::vector<arrival_ptr> next;  // whom the next listing serves
  };

  void create_next();
  void list_next(const std::string& queue, const std::string& base);
  void fail(const arrival_ptr& a, bool unknown);

  store::scheduler& time_;
  ordered_nodes& nodes_;
  host& host_;
  std::uint64_t sessions_ended_ = 0;
  std::deque<arrival_ptr> coming_;     // whose creation has not been sent yet
  std::size_t creations_ = 0;          // in flight, of this session
  std::map<std::string, line> lines_;  // by queue
};

}  // namespace holdfast::zookeeper
