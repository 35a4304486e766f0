// SPDX-License-Identifier: Apache-2.0
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
  tickets::link::on_reply handler;  // null: it is answered, since its node was not sent
  std::optional<result> made{};     // none: the creation was not answered
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

  void add(arrival a) {
    coming_.push_back(std::make_shared<arrival>(std::move(a)));
    create_next();
  }
  /// The session has ended, and its answers may never arrive: the next session begins without them.
  void expired() {
    ++sessions_ended_;
    creations_ = 0;
    for (const auto& [queue, waiting] : std::exchange(lines_, {})) {
      for (const arrival_ptr& a : waiting.next) fail(a, true);  // the listing in flight answers the others
    }
    create_next();
  }

 private:
  /// The limit of creations in flight, for all queues together.
  static constexpr std::size_t most_creations = 256;

  struct line {
    bool listing = false;
    std::vector<arrival_ptr> next;  // served by the next listing
  };

  void create_next() {
    while (creations_ < most_creations && !coming_.empty()) {
      const arrival_ptr a = std::move(coming_.front());
      coming_.pop_front();
      claim* const c = claims_.find(a->ref);
      if (c == nullptr) {  // given up, or the session has ended
        fail(a, false);
        continue;
      }
      ++creations_;
      lines_[c->queue].next.push_back(a);
      operation creation = c->create();
      creation.request = a->handler.request;
      nodes_.submit(std::move(creation), [this, a, session = sessions_ended_](result r) {
        a->made = std::move(r);
        if (session != sessions_ended_) return;
        --creations_;
        create_next();
        if (a->made->code == answer::not_sent) not_sent(a);
      });
      list_next(c->queue, c->base);
    }
  }
  /// No listing can say more of it.
  void not_sent(const arrival_ptr& a) {
    for (auto& [queue, waiting] : lines_) std::erase(waiting.next, a);
    on_listed_({a}, {*a->made}, false);
    a->handler = nullptr;
  }
  void list_next(const std::string& queue, const std::string& base) {
    line& waiting = lines_[queue];
    if (waiting.listing) return;
    if (waiting.next.empty()) {
      lines_.erase(queue);
      return;
    }
    waiting.listing = true;
    std::vector<operation> steps{{.kind = operation_kind::list, .path = queue}};
    if (queue != base) steps.push_back({.kind = operation_kind::list, .path = base});
    nodes_.submit_all(std::move(steps), [this, queue, base, session = sessions_ended_,
                                         all = std::exchange(waiting.next, {})](std::vector<result> results) {
      on_listed_(all, std::move(results), session == sessions_ended_);
      if (session != sessions_ended_) return;
      lines_[queue].listing = false;
      list_next(queue, base);
    });
  }
  void fail(const arrival_ptr& a, bool maybe_executed) {
    time_.at(time_.now(), [a, maybe_executed] { a->handler(session_ended(maybe_executed)); });
  }

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
