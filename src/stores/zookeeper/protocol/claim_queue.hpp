#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/link.hpp"
#include "core/request.hpp"
#include "core/scheduler.hpp"
#include "stores/zookeeper/protocol/arrivals.hpp"
#include "stores/zookeeper/protocol/claim_table.hpp"
#include "stores/zookeeper/protocol/contender_queue.hpp"
#include "stores/zookeeper/protocol/polling.hpp"
#include "stores/zookeeper/protocol/reaper.hpp"

namespace holdfast::zookeeper {

/// The claims of a client in their queues at the store: they arrive, wait, hold and leave. It decides grants
/// from the nodes of a queue, because no server does.
///
/// These are the recipes of Apache Curator (InterProcessMutex, InterProcessReadWriteLock,
/// InterProcessSemaphoreV2) over ordered nodes, with two differences that other clients do not notice: the
/// contenders ahead are read once and remembered (see `contender_queue`), and a wait for permits takes all of
/// them at once.
///
/// - A claim creates a node in its queue (see `arrivals`). It holds when no conflicting contender is ahead.
/// Until then it watches the nearest one ahead, and moves up when that node is removed.
/// - The first claim for permits creates one lease for each permit, and waits until all leases together fit
/// into the capacity. Only then the next claim of the queue comes.
/// - If a watch cannot be set, waiters poll in turn (see `polling`), and holders look with each renewal.
/// - The guid in the nodes' names shows the outcome of a request whose answer was lost. Nodes that have to go
/// are removed, with retries (see `reaper`).
/// - The end of the session ends all its nodes and claims.
class claim_queue final : private arrivals::host {
 public:
  using on_reply = tickets::link::on_reply;
  using on_notification = tickets::link::on_notification;

  /// \param time must outlive it, and so must `nodes`.
  /// \param root empty, or the path below which the names are.
  /// \param others_watch whether another part of the session needs the watch of a node's children.
  claim_queue(store::scheduler& time, ordered_nodes& nodes, std::string root, layout style,
              std::function<bool(const std::string&)> others_watch);

  /// \param handler hears what becomes of claims unasked.
  void on_notifications(on_notification handler) { on_notification_ = std::move(handler); }

  // Requests, as tickets::task has them. They always answer, after the call.
  void acquire(const store::claim& request, const on_reply& handler);
  /// tickets::find
  void retrace(const store::hold& request, const on_reply& handler);
  void look(const store::hold& request, const on_reply& handler);
  void renew(const tickets::renew& request, const on_reply& handler);
  /// tickets::release and withdraw
  void leave(const store::hold& request, const on_reply& handler);
  void downgrade(const store::hold& request, const on_reply& handler);
  void annotate(const tickets::annotate& request, const on_reply& handler);

  // Of the session:
  void connected();
  void expired();
  void happened(const std::string& path, change event);

  /// Whether a claim waits for what happens to a node or its children.
  [[nodiscard]] bool awaits(const std::string& path) const { return awaited_.contains(path); }

 private:
  /// A queue at the store with claims of this client.
  struct line {
    explicit line(layout style) : ahead{style} {}
    contender_queue ahead;
    std::size_t claims = 0;  // the number of claims in the queue
  };
  /// How many contenders a waiter reads again.
  enum class extent : std::uint8_t {
    fresh,    // none: all remembered contenders were read just now
    nearest,  // the one for which it waits
    all       // all that are ahead
  };

  // claim_queue.cpp: shared by the others
  void reply_later(const on_reply& handler, tickets::link::outcome reply);
  [[nodiscard]] std::string top() const { return root_.empty() ? "/" : root_; }
  void node_gone(const std::string& path);
  void notify(const claim& c, store::notification_kind kind, fencing_token token) const;
  [[nodiscard]] line& line_of(const claim& c) { return lines_.try_emplace(c.queue, style_).first->second; }
  void leave_line(claim& c);
  [[nodiscard]] std::vector<std::string> nodes_of(const claim& c) const;
  void forget(const claim& c);
  void revoke(const claim& gone);

  // acquire.cpp
  std::optional<arrivals::creation> begin_creation(const claim_ref& ref) override;
  listing read_queue(const std::string& queue, std::vector<result> lists, bool is_current) override;
  void entered(const arrival& a, const listing& l) override;
  void fail_entry(claim& c, const on_reply& handler, tickets::link::outcome reply);
  void make_room(claim& c, const on_reply& handler);
  void settle(claim& c, const on_reply& handler);
  void hold(claim& c);
  void grant(claim& c, const on_reply& handler);
  void retrace_node(claim& c, const contender& place, const on_reply& handler);
  void forget_unsure(claim& c, const on_reply& handler);

  // wait.cpp
  void wait_behind(claim& c, extent reads);
  void waited(const claim_ref& ref, const std::vector<std::string>& looked_at, const std::string& watched,
              const std::vector<result>& results);
  void watch_answered(const std::string& path, answer code);
  void watch_own(claim& c);
  void unsettle(claim& c);
  void unsettle_behind(const std::string& path);
  [[nodiscard]] bool is_first(claim& c);
  void come_in(claim& c);
  void come_anew(claim& c);
  void went(const std::string& path);
  [[nodiscard]] bool is_watched_by_its_claim(const std::string& path);
  void poll(const claim_ref& ref);
  void move_up(claim& c);
  void stop_waiting(claim& c);
  void unwatch(const std::string& path, watch_kind kind);

  // permits.cpp
  void choose(claim& c, const on_reply& handler, int tries);
  void chosen(const claim_ref& ref, const on_reply& handler, int tries, const std::vector<result>& results);
  void refuse_capacity(claim& c, const on_reply& handler, std::int64_t agreed);
  void count_leases(claim& c);
  [[nodiscard]] bool can_watch(const std::vector<std::string>& paths, watch_load& planned) const;
  void have_permits(claim& c, const on_reply& handler);
  void begin_leases_anew(claim& c, const on_reply& handler);
  void start_over(claim& c, const on_reply& handler, const store::request_error& reason);
  void refuse_other_kind(claim& c, const on_reply& handler, const std::vector<std::string>& children);

  // renew.cpp
  void read_written(claim& c, const std::string& path);
  void take_request(claim& c, const result& read);

  // release.cpp
  void remove(claim& c, on_reply handler);
  void abandon(claim& c, on_reply handler);
  [[nodiscard]] static reaper::orphan orphan_of(const claim& c);
  void removed(const std::string& path);

  store::scheduler& time_;
  ordered_nodes& nodes_;
  const std::function<bool(const std::string&)> others_watch_;
  const std::string root_;
  const layout style_;
  on_notification on_notification_;
  reaper reaper_;
  /// Of claims that were refused while they were queued, until they look.
  std::map<owner_id, tickets::reply> verdicts_;
  arrivals arrivals_;
  polling polling_;

  claim_table claims_;
  std::map<std::string, line> lines_;                  // by the path of the queue
  std::map<std::string, std::set<owner_id>> awaited_;  // watched nodes, and the claims that wait for each
};

}  // namespace holdfast::zookeeper
