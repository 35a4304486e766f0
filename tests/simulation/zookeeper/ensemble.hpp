// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "simulation/host.hpp"
#include "simulation/line.hpp"
#include "simulation/site.hpp"
#include "simulation/zookeeper/messages.hpp"
#include "simulation/zookeeper/znodes.hpp"

namespace holdfast::sim {

class zookeeper_link;

/// The answer to an operation that has changed nothing.
[[nodiscard]] zookeeper::result failed(const zookeeper::operation& op, zookeeper::answer code,
                                       const char* reason = "the server said so");

/// A model of ZooKeeper: one server, or a leader with followers.
///
/// The leader decides on all changes, one after the other; followers carry them out later, and answer reads
/// from what they know. Of one connection everything is carried out and answered in the order of sending, and
/// what happens to a watched node is told before any answer that knows of it. A session ends when the leader
/// has not heard of it for its timeout, rounded up to ticks of the leader's own clock; what a follower's
/// clients send, the leader hears of at every half tick (as ExpiryQueue and LearnerSessionTracker do it).
/// With a new leader, all sessions have their whole timeout again. What was decided is never lost: a majority
/// always has it.
class ensemble {
 public:
  struct settings {
    std::size_t servers = 3;
    duration tick = std::chrono::milliseconds{200};
    std::int32_t first_number = 0;  // what the children of each node are counted from when it is made first
  };
  /// After how many ticks a server and its leader give each other up.
  static constexpr int sync_limit = 5;

  ensemble(scene& in, settings s, const std::vector<std::int64_t>& rates_ppm);

  struct packet_number {
    std::uint32_t connection = 0;  // of the line
    std::uint32_t nth = 0;         // of the connection
  };
  /// From a client's end.
  void receive(std::size_t server, zookeeper_link& from, line& over, packet_number number,
               client_packet packet);

  // Weather.
  void stop(std::size_t server, instant until);
  /// Its process ends, and begins anew after a while; data is kept.
  void crash(std::size_t server, duration down);
  /// Whether it leads; then another will.
  void crash_all(duration down);
  void change_leader();
  /// The others elect another leader, and the former one, which does not know yet, goes on serving for a
  /// while: it lets clients in by its own table of sessions, answers what it need not have voted on, and
  /// decides nothing.
  /// \param along reaches none but the former leader until then.
  void depose(line& along, instant until);
  /// What goes between a follower and its leader waits.
  void hold_back(std::size_t server, bool to_leader, bool from_leader, instant until);
  /// What a client sends over the connection that there is waits; what it hears does not.
  void hold_back(const line& from, instant until);
  void step_wall_clock(std::size_t server, duration by);
  /// Containers that have become empty go.
  void sweep();
  /// Servers that are up, and those that are in contact with a leader.
  [[nodiscard]] std::size_t size() const { return servers_.size(); }
  [[nodiscard]] std::optional<std::size_t> leader() const { return leader_; }

  // Without a connection: for clients of others, and for operators. Nothing, where nobody leads.
  [[nodiscard]] std::optional<zookeeper::result> propose(const zookeeper::operation& op, std::int64_t by);
  /// Lives until it is ended.
  [[nodiscard]] std::optional<std::int64_t> begin_session();
  void end_session(std::int64_t which);
  [[nodiscard]] bool has_session(std::int64_t which) const { return sessions_.contains(which); }

  /// What has been decided: all that is there.
  [[nodiscard]] const znodes& decided() const { return decided_; }
  /// How many watches servers keep for connections that are open.
  [[nodiscard]] std::size_t watches() const;

  /// After each change, before anybody hears of it.
  std::function<void(const transaction&)> on_change;
  /// A client is told that a node is gone which it asked to watch; for what it watched over another
  /// connection already it may have no use any more.
  std::function<void(const std::string& path, std::int64_t session)> on_removal_notified;

 private:
  struct connection {
    zookeeper_link* to = nullptr;
    line* way = nullptr;
    std::uint32_t number = 0;
    std::uint32_t next = 1;    // packet
    std::int64_t session = 0;  // zero until it is let in
    /// An operation, and its result where the leader has to give it.
    struct open_operation {
      client_packet packet;
      bool needs_leader = false;
      std::optional<zookeeper::result> result;
    };
    std::deque<std::shared_ptr<open_operation>> queue;
    std::set<std::string> again;  // nodes that it watches as the connection before did

    [[nodiscard]] bool is_open() const { return way->connection() == number; }
  };
  using connection_ptr = std::shared_ptr<connection>;
  using watch_table = std::unordered_map<std::string, std::vector<connection_ptr>>;

  struct server {
    server(scene& in, std::int64_t rate_ppm);

    site at;
    znodes known;
    bool follows = false;  // in contact with the leader, or leads
    bool is_down = false;
    std::uint32_t contact = 0;  // what was on its way in a former one is lost
    std::vector<connection_ptr> connections;
    std::set<std::int64_t> heard_of;  // sessions, since the leader was told last
    watch_table nodes;
    watch_table lists;
    instant up_last{}, down_last{}, up_held{}, down_held{};
  };
  struct session {
    duration timeout{};
    std::int64_t ends = 0;  // nanoseconds of the leader's clock
    std::int64_t last = 0;  // the last change that it asked for
    connection_ptr owner;
    bool is_endless = false;
  };

  // One server
  void arrive(std::size_t at, const connection_ptr& c, client_packet packet);
  void pump(std::size_t at, const connection_ptr& c);
  [[nodiscard]] zookeeper::result read(std::size_t at, const connection_ptr& c,
                                       const zookeeper::operation& o);
  void watch_again(std::size_t at, const connection_ptr& c, const watches_again& w);
  void carry_out(std::size_t at, const transaction& t);
  void fire(std::size_t at, watch_table& from, const std::string& path, zookeeper::change event);
  void send(std::size_t at, const connection& c, server_packet p);
  void leave(std::size_t at, bool silently);
  void join(std::size_t at);
  static void stop_watching(watch_table& from, const std::string& path, const connection_ptr& c);

  // Between them
  template <class Function>
  void to_leader(std::size_t from, Function f);
  template <class Function>
  void from_leader(std::size_t to, Function f);
  void lose_leader(bool silently);
  void elect(std::uint64_t term);
  [[nodiscard]] bool can_vote(std::size_t which) const {
    return !servers_[which].is_down && former_leader_ != which;
  }
  void serve_as_former_leader(const connection_ptr& c, client_packet packet);
  void let_in_as_former_leader(const connection_ptr& c, const hello& h);
  void end_former_leader_after(duration d);
  [[nodiscard]] bool is_apart(const line& from, std::size_t at) const;
  [[nodiscard]] bool has_majority() const;

  // The leader
  void lead_on(std::uint64_t term);
  void ping(std::uint64_t term);
  void end_overdue();
  void let_in(std::size_t at, const connection_ptr& c, const hello& h);
  void decide(std::size_t at, const connection_ptr& c, const std::shared_ptr<connection::open_operation>& o);
  [[nodiscard]] zookeeper::result prepare(const zookeeper::operation& op, std::int64_t by);
  /// Fills in what a new node's name, and its parent, need.
  [[nodiscard]] std::optional<zookeeper::answer> prepare_new(const zookeeper::operation& op, transaction& t);
  void commit(transaction t);
  void end(std::int64_t which);
  void touch(std::int64_t which);
  [[nodiscard]] std::int64_t leader_clock() const;

  scene& in_;
  const settings settings_;
  std::deque<server> servers_;
  znodes decided_;
  std::optional<std::size_t> leader_;
  std::uint64_t term_ = 1;
  std::uint32_t changes_ = 0;  // in this term
  std::int64_t last_session_ = 0;
  std::set<std::string> made_before_;  // containers
  struct counter {
    std::int32_t next = 0;
    instant until{};
  };
  std::map<std::string, counter> being_written_;  // of parents whose last child is not written yet
  std::map<std::int64_t, session> sessions_;
  struct hold {
    instant until{};
    std::uint32_t connection = 0;
  };
  std::unordered_map<const line*, hold> held_;
  // A leader that does not know that it is none any more.
  std::optional<std::size_t> former_leader_;
  std::map<std::int64_t, duration> former_sessions_;  // that it knows, and their timeouts
  struct separation {
    line* of = nullptr;
    instant until{};
  };
  separation apart_;  // who reaches nobody else
};

template <class Function>
void ensemble::to_leader(std::size_t from, Function f) {
  if (leader_ == from) return f();
  server& s = servers_[from];
  if (!s.follows) return;
  s.up_last =
      std::max(s.up_last, std::max(in_.now, s.up_held) + in_.chance.between(std::chrono::microseconds{50},
                                                                            std::chrono::microseconds{400}));
  in_.agenda.add(s.up_last, [this, from, in = s.contact, f = std::move(f)]() mutable {
    if (servers_[from].contact != in || !leader_) return;
    servers_[*leader_].at.enter([this, from, in, f = std::move(f)]() mutable {
      if (servers_[from].contact == in && leader_) f();
    });
  });
}

template <class Function>
void ensemble::from_leader(std::size_t to, Function f) {
  if (servers_.size() == 1) return f();
  server& s = servers_[to];
  if (!s.follows) return;
  const std::chrono::microseconds least{leader_ == to ? 0 : 50};
  s.down_last = std::max(s.down_last, std::max(in_.now, s.down_held) +
                                          in_.chance.between(least, std::chrono::microseconds{400}));
  in_.agenda.add(s.down_last, [this, to, in = s.contact, f = std::move(f)]() mutable {
    server& s = servers_[to];
    if (s.contact != in) return;
    s.at.enter([this, to, in, f = std::move(f)]() mutable {
      if (servers_[to].contact == in) f();
    });
  });
}

}  // namespace holdfast::sim
