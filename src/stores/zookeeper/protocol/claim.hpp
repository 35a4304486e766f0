// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/link.hpp"
#include "core/request.hpp"
#include "stores/zookeeper/protocol/contender_queue.hpp"
#include "stores/zookeeper/protocol/layout.hpp"
#include "stores/zookeeper/protocol/wire_nodes.hpp"

namespace holdfast::zookeeper {

/// A claim that can be looked up again later.
struct claim_ref {
  owner_id owner;
  std::uint64_t serial = 0;  // distinguishes it from a former claim of the same owner
};

/// What does not change of a claim.
struct claim_identity {
  store::claim wish;  // a holder's metadata changes
  std::uint64_t serial = 0;
  layout style{};
  owner_id guid;      // in the names of its nodes: derived from the owner id, different for each new entry
  std::string base;   // the lock's node
  std::string queue;  // the parent of the contenders: the lock's node, or `locks` below it

  claim_identity(const store::claim& r, std::uint64_t number, layout l, std::string path);

  [[nodiscard]] claim_ref ref() const { return {wish.owner, serial}; }
  [[nodiscard]] bool is_of_permits() const { return wish.mode == mode::permits; }
  [[nodiscard]] std::string leases_path() const { return base + "/leases"; }
};

/// The result of one listing of a queue, for all claims whose nodes were sent before it.
struct listing {
  result queue;
  std::optional<std::string> stranger{};  // a contender of the other layout
  bool other_kind = false;                // the queue of possibly another kind of lock
};

/// The machine of one claim at the store, from its arrival in a queue until it leaves.
///
///     coming -> entering -> reading <-> waiting
///     entering, reading or waiting -> holding                              nobody is ahead
///     entering, reading or waiting -> taking -> counting <-> crowded       likewise, of permits
///     taking, counting or crowded -> holding                               the leases fit
///     entering -> unsure -> as after entering, or forgotten                its answer was lost
///     any of them -> leaving
///
/// It decides from answers and events, and returns the next action, which `claim_queue` carries out: that
/// sends the steps, and routes answers back. The claim shares the contenders ahead with the other claims of
/// the client in its queue, and watches with all.
class claim : public claim_identity {
 public:
  enum class state : std::uint8_t {
    coming,    // its node has not been sent yet
    entering,  // its node is being created
    unsure,    // its node may have been created
    reading,   // in the queue; finds out who is ahead
    waiting,   // behind a contender that is watched or polled
    taking,    // permits: first in the queue; its leases are being created, under numbers not known yet
    counting,  // permits: with its leases; finds out how many leases there are
    crowded,   // permits: there are more than the capacity; the leases are watched or polled
    holding,
    leaving  // its nodes are being removed
  };
  /// How many contenders ahead a waiter reads again.
  enum class extent : std::uint8_t {
    none,     // all remembered contenders were read just now
    nearest,  // the one for which it waits
    all
  };
  struct next;
  /// Steps that are sent together, and how the claim goes on with their answers.
  struct batch {
    std::vector<operation> steps{};
    std::function<next(claim&, const std::vector<result>&, wire_nodes&)> then{};
    tickets::link::outcome if_gone = tickets::reply{tickets::nothing{}};  // when the claim has gone by then
  };
  /// What has to be done after an answer or an event.
  struct next {
    enum action : std::uint8_t {
      nothing,
      ask,           // send
      answer,        // reply: to the request of its owner
      enter,         // creates its node, and lists the queue
      make_parents,  // parent; then `parents_made`
      wait,          // reads: behind the nearest contender ahead
      count,         // the leases, and watches them
      hold,          // send, without an answer
      unsettle,      // a read was not answered: it looks again later
      awaited_gone,  // all claims that wait for that node move up
      pass_request,  // send, without an answer: the holder is asked to release
      revoke,        // another client has removed one of its nodes
      refuse,        // reply, parent: removes its nodes
      start_over,    // reply, parent: removes its nodes, whatever their numbers are
      forget         // it has no node
    } is = nothing;
    batch send{};
    extent reads{};
    tickets::link::outcome reply{};     // if no request waits for it, the owner is to look
    std::string parent{};               // to be removed if it is empty, as its numbers are used up
    std::vector<std::string> strays{};  // nodes to be removed before
  };

  /// \param line the contenders of its queue.
  claim(claim_identity own, std::shared_ptr<contender_queue> line)
      : claim_identity{std::move(own)}, line_{std::move(line)} {}

  [[nodiscard]] bool is(state s) const { return state_ == s; }
  [[nodiscard]] bool is_waiting() const { return state_ == state::reading || state_ == state::waiting; }
  [[nodiscard]] fencing_token token() const { return token_; }
  /// The path of its place in the queue. It must have one.
  [[nodiscard]] std::string place_path() const { return queue + '/' + place_->node; }
  /// The former place in the queue, if the claim holds permits.
  [[nodiscard]] const std::string& gate() const { return gate_; }
  /// The known nodes but the gate, with the reader's node of a downgrade without an answer.
  [[nodiscard]] std::vector<std::string> nodes() const;
  /// Whether its nodes are watched, or will be by requests in flight.
  [[nodiscard]] bool is_watched() const { return watched_; }

  [[nodiscard]] operation create();
  /// \param made none: the creation was not answered.
  next entered(const std::optional<result>& made, const listing& l);
  next parents_made(const std::optional<store::request_error>& failed);
  /// Its nodes may exist, and the owner will ask for them.
  next doubt(const store::request_error& reason);
  /// Finds the node of a claim whose answer was lost.
  [[nodiscard]] batch search() const;

  /// The nearest contender ahead; empty: there is none.
  [[nodiscard]] std::string nearest() const;
  /// Without steps, there is nothing to read. It waits then, if somebody is ahead.
  /// \param is_watched the nearest is watched already.
  /// \param has_room it can be watched.
  [[nodiscard]] std::vector<operation> read_ahead(extent reads, const wire_nodes& nodes, bool is_watched,
                                                  bool has_room);
  /// \param awaited what it waits for, which may have been notified meanwhile.
  /// \param watches the nearest, which was read first, was to be watched.
  next ahead_read(const std::string& awaited, bool watches, const std::vector<result>& results,
                  wire_nodes& nodes);
  [[nodiscard]] batch count(const wire_nodes& nodes);
  /// \param is_there its own node was found, or is watched.
  next move_up(bool is_there);
  /// \param path of the node for which it waits.
  next awaited_changed(const std::string& path, change event);
  /// What it waits for may not be watched any more.
  void unsettle();
  next look_again() const;

  /// Reads one of its nodes, which has changed or is not watched, and watches it; or nothing, if that is not
  /// needed. If it has several, all are watched with the next renewal.
  [[nodiscard]] std::optional<operation> read_own(const std::string& path, const wire_nodes& nodes);
  next own_read(const result& r, std::int64_t session);

  /// \return whether a request to release came before, which has to be read.
  bool hold();
  /// The steps that confirm a hold; none if watches do.
  [[nodiscard]] std::vector<operation> confirm(const wire_nodes& nodes, std::size_t& planned_bytes);
  next downgrade();
  /// Whether the node is removed by a downgrade without an answer, which is no loss.
  [[nodiscard]] bool replaces(const std::string& path) const {
    return lowering_ && place_ && place_->excludes() && path == place_path();
  }
  [[nodiscard]] operation annotate(std::shared_ptr<const std::string> metadata);
  void leave();

 private:
  next settle();
  next come_in();
  next take_leases();
  next take_request(const result& read);
  next counted(bool watches, const std::vector<result>& results, wire_nodes& nodes);
  // Answers to a batch:
  next kinds_read(const std::vector<result>& results, wire_nodes& nodes);
  next searched(const std::vector<result>& results, wire_nodes& nodes);
  next found(const std::vector<result>& results, wire_nodes& nodes);
  next own_found(const std::vector<result>& results, wire_nodes& nodes);
  next leases_taken(const std::vector<result>& results, wire_nodes& nodes);
  next downgraded(const std::vector<result>& results, wire_nodes& nodes);

  std::shared_ptr<contender_queue> line_;  // while it is queued
  state state_ = state::coming;
  int tries_ = 0;                   // to create nodes whose parents the servers had removed meanwhile
  std::optional<contender> place_;  // none before it has entered, and of permits that hold
  std::vector<std::string> leases_;
  std::string gate_;
  fencing_token token_;
  std::optional<std::int64_t> written_capacity_;  // of permits: as the last to hold some has written it
  bool watched_ = false;
  bool has_unread_request_ = false;  // waiting: a request to release came before it knew that it holds
  bool lowering_ = false;            // holding: a downgrade was sent, and has not failed
};

}  // namespace holdfast::zookeeper
