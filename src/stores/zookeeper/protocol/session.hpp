#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/request.hpp"
#include "core/scheduler.hpp"
#include "stores/zookeeper/protocol/contender_queue.hpp"
#include "stores/zookeeper/protocol/inspection.hpp"
#include "stores/zookeeper/protocol/layout.hpp"
#include "stores/zookeeper/protocol/liveness.hpp"
#include "stores/zookeeper/protocol/tree_watch.hpp"
#include "stores/zookeeper/protocol/wire_nodes.hpp"

namespace holdfast::zookeeper {

/// A client's session at an ensemble: its nodes, what it waits for, and until when it may be believed to
/// live. It answers what tickets::link is asked, by the recipes of Apache Curator (InterProcessMutex,
/// InterProcessReadWriteLock, InterProcessSemaphoreV2), with two differences that others do not see: who is
/// ahead is read once and remembered (see contender_queue), and a wait for permits takes all of them at once.
///
/// Neither socket nor thread nor clock inside: the real link and the simulator drive the very same code.
/// Every call is made under the client's core lock, and so is every reply and notification.
///
/// Until when it lives at the servers, `liveness` knows.
///
/// All watches of a client together are bounded (see `watch_table`), and nodes that may not be read cannot be
/// watched. There, holders look at their own nodes with each renewal, and waiters look at what they wait for
/// from time to time.
class session {
 public:
  struct settings {
    std::string root;  // empty, or a path
    zookeeper::layout layout = zookeeper::layout::curator;
    duration timeout{};  // the session's timeout that is asked for; zero: not known

    /// The node above all others of the library.
    [[nodiscard]] std::string top() const { return root.empty() ? "/" : root; }
  };
  using on_reply = tickets::link::on_reply;
  using on_notice = tickets::link::on_notice;

  /// Both must outlive it, and the wire must not answer any more when it goes.
  session(store::scheduler& time, wire& to, settings s);
  ~session();
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  // As in tickets::link.
  void send(const tickets::request& what, const on_reply& done);
  void on_notices(on_notice told) { told_ = std::move(told); }
  [[nodiscard]] std::optional<store::time_point> session_until() const { return liveness_.until(); }
  void on_session(std::function<void()> handler) { liveness_.on_extended(std::move(handler)); }
  /// From now on `changed` is called after changes below the root; null: no more.
  void watch(std::function<void()> changed) { tree_watch_.watch(std::move(changed)); }

  // What the wire's owner has to tell, in the order in which it happened among the answers.
  /// There is a connection; `began` is before the asking for it was sent. Watches of the same session are
  /// still set.
  void connected(std::int64_t id, duration timeout, store::time_point began);
  void disconnected();
  /// The servers have ended the session, and removed its nodes.
  void expired();
  void happened(const std::string& path, change event);

 private:
  enum class state : std::uint8_t {
    entering,  // its node is being made
    unsure,    // its node may have been made
    waiting,   // behind somebody
    choosing,  // permits: first in the queue, with leases made, until there are few enough of them
    holding,
    leaving
  };
  struct claim {
    std::uint64_t serial =
        0;  // so that an answer to a former claim of the same owner is not taken for this one's
    tickets::request asked;
    owner_id guid;  // in the names of its nodes: the owner's, made different for each time that it comes anew
    state now = state::entering;
    bool queued = true;  // and not holding or leaving yet
    bool sent = false;   // the creation of its node
    std::string base;    // the lock's node
    std::string queue;   // whose children queue: the lock's node, or `locks` below it
    std::optional<contender> place;
    std::vector<std::string> leases;  // of permits: the nodes that hold
    std::string gate;                 // of permits that hold: the place that it had
    fencing_token token;
    bool settled =
        false;  // waiting or choosing: what it waits for is watched, or looked at from time to time
    bool watched = false;   // its own nodes are, or will be by what has been sent
    bool polled = false;    // stands in `unwatched_`
    bool lowering = false;  // a downgrade may have been carried out
    std::string awaited;    // the node whose end it waits for
  };
  struct line {
    explicit line(layout how) : ahead{how} {}
    contender_queue ahead;
    std::size_t claims = 0;  // that queue in it
  };
  /// A claim that can be looked up again later.
  struct ref {
    owner_id owner;
    std::uint64_t serial = 0;
  };
  /// A claim that comes: its node's creation, and what the listing after it says.
  struct arrival {
    ref who;
    on_reply done;
    int tries = 0;
    std::optional<result> made;
  };
  using arrival_ptr = std::shared_ptr<arrival>;
  /// Of one queue. One listing serves all whose creation was sent before it.
  struct arrivals {
    bool listing = false;
    std::vector<arrival_ptr> next;
  };
  /// What one listing says to all of its arrivals.
  struct listed {
    result queue;
    std::optional<std::string> stranger;  // a contender of the other layout
    bool other_kind = false;              // of what may be another kind of lock
  };
  /// How much a waiter asks after.
  enum class extent : std::uint8_t {
    fresh,    // all who are remembered were there a moment ago
    nearest,  // the one that it waits for
    all       // all who are ahead
  };
  /// What may have come about under a number that is not known.
  struct orphan {
    owner_id guid;
    std::string queue;
    std::string leases;  // empty, or the node below which there may be some
  };
  // session.cpp: what all have in common
  void evict(const tickets::request& request, const on_reply& handler);
  void changed(const std::string& path, change event);
  void node_gone(const std::string& path);
  [[nodiscard]] claim* find(const ref& who);
  [[nodiscard]] static ref ref_of(const claim& c) { return {c.asked.owner, c.serial}; }
  void tell(const claim& c, store::notice what, fencing_token token) const;
  void own(const std::string& path, const claim& c) { own_nodes_[path] = ref_of(c); }
  [[nodiscard]] line& line_of(const claim& c) {
    return lines_.try_emplace(c.queue, settings_.layout).first->second;
  }
  void leave_line(claim& c);
  [[nodiscard]] std::vector<std::string> nodes_of(const claim& c) const;
  /// A downgrade has no answer yet.
  [[nodiscard]] static bool lowers(const claim& c) { return c.lowering && c.place && c.place->excludes(); }
  void forget(const claim& c);
  /// Under numbers that are not known yet.
  [[nodiscard]] static bool makes_leases(const claim& c) {
    return c.now == state::choosing && c.leases.empty();
  }
  void revoke(const claim& gone);

  // acquire.cpp
  void acquire(const tickets::request& what, const on_reply& done);
  void enter(const ref& who, const on_reply& done, int tries);
  void create_next();
  void list_next(const std::string& queue, const std::string& base);
  void end_arrivals();
  void entered(const arrival& a, const listed& l);
  void fail_entry(claim& c, const on_reply& done, tickets::link::outcome why);
  void make_room(claim& c, const on_reply& done);
  void settle(claim& c, const on_reply& done);
  void hold(claim& c);
  void retrace(const tickets::request& what, const on_reply& done);
  void forget_unsure(claim& c, const on_reply& done);

  // wait.cpp
  void wait_behind(claim& c, extent asks);
  void waited(const ref& who, const std::vector<std::string>& looked_at, const std::string& watched,
              const std::vector<result>& results);
  void watch_answered(const std::string& path, answer how);
  void watch_own(claim& c);
  void unsettle(claim& c);
  void unsettle_behind(const std::string& path);
  [[nodiscard]] bool is_first(claim& c);
  void come_in(claim& c);
  void come_anew(claim& c);
  void went(const std::string& path);
  [[nodiscard]] bool is_watched_by_its_claim(const std::string& path) const;
  void poll_later(claim& c);
  void poll();
  void move_up(claim& c);
  void stop_waiting(claim& c);
  void unwatch(const std::string& path, watch_kind kind);
  void look(const tickets::request& what, const on_reply& done);

  // release.cpp
  void leave(const tickets::request& what, const on_reply& done);
  void remove(claim& c, std::function<void(tickets::link::outcome)> done);
  void abandon(claim& c, std::function<void(tickets::link::outcome)> done);
  [[nodiscard]] static orphan orphan_of(const claim& c);
  void search_and_remove(const orphan& what, const std::function<void(std::optional<store::trouble>)>& done);
  void doom(const std::string& path);

  // renew.cpp
  void renew(const tickets::request& what, const on_reply& done);
  void downgrade(const tickets::request& what, const on_reply& done);

  // permits.cpp
  void choose(claim& c, const on_reply& done, int tries);
  void chosen(const ref& who, const on_reply& done, int tries, const std::vector<result>& results);
  void count_leases(claim& c);
  [[nodiscard]] bool can_watch(const std::vector<std::string>& paths, watch_load& planned) const;
  void have_permits(claim& c, const on_reply& done);
  void begin_leases_anew(claim& c, const on_reply& done);
  void start_over(claim& c, const on_reply& done, const store::trouble& why);
  void refuse_other_kind(claim& c, const on_reply& done, const std::vector<std::string>& children);

  store::scheduler& time_;
  const settings settings_;
  liveness liveness_;
  wire_nodes nodes_;
  inspection inspection_;
  tree_watch tree_watch_;
  on_notice told_;

  std::uint64_t last_serial_ = 0;
  std::uint64_t sessions_ended_ = 0;
  std::unordered_map<owner_id, claim> claims_;
  std::map<std::string, ref, std::less<>> own_nodes_;  // all of ours
  std::map<std::string, line> lines_;
  std::deque<arrival_ptr> coming_;            // whose creation has not been sent yet
  std::size_t creations_ = 0;                 // in flight, of this session
  std::map<std::string, arrivals> arrivals_;  // by queue
  std::deque<ref> unwatched_;                 // who waits for a node that is not watched
  store::scheduler::timer next_poll_ = 0;
  std::map<std::string, std::set<owner_id>> awaited_;  // watched nodes, and who waits for each
  std::set<std::string> doomed_;                       // nodes of ours that have to go, whoever still asks
  std::vector<orphan> orphans_;                        // likewise
};

}  // namespace holdfast::zookeeper
