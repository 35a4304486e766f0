// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/link.hpp"
#include "simulation/foreign_commands.hpp"
#include "simulation/ledger.hpp"
#include "simulation/line.hpp"
#include "simulation/site.hpp"
#include "simulation/standing.hpp"

namespace holdfast::sim {

/// A store, as a world needs it: the real protocol over a server that can be looked into, and can lose what
/// it knows. One serves many worlds, one after the other. What a store does not have, or what its own world
/// does otherwise, is empty here.
class simulated_store {
 public:
  simulated_store() = default;
  simulated_store(const simulated_store&) = delete;
  simulated_store& operator=(const simulated_store&) = delete;
  virtual ~simulated_store() = default;

  /// In this world whoever empties the store does so while it runs (FLUSHALL), and not by a restart.
  bool empties_without_restart = false;

  /// Begins a world, empty but for what belongs to others.
  virtual void begin(scene& /*in*/, site& /*at*/, ledger& /*account*/) {}
  /// A client's link.
  /// \param reply_limit how long a request may go without an answer before the connection is given up.
  [[nodiscard]] virtual std::unique_ptr<tickets::link> connect(host& from, line& over,
                                                               duration reply_limit) = 0;
  /// The notifications on their way are as safe as the way is now; from here on, none gets lost.
  virtual void heal() {}

  /// Somebody who may send notifications, and nothing else, sends one to every client: it may be false.
  virtual void notify_all(const store::notification& /*n*/) {}

  /// Where clients of others that share its names ask; null, where there are none.
  [[nodiscard]] virtual foreign_commands* commands_for_foreign_clients() { return nullptr; }
  /// Whether it is one that answers with errors when it is in trouble.
  [[nodiscard]] virtual bool is_a_server() const { return false; }
  /// Answers with an error, one of all that there are, to all or some of what comes in until then.
  virtual void refuse_until(instant /*when*/) {}
  /// Whether what it is asked are transactions, which wait for each other, and may end undone.
  [[nodiscard]] virtual bool has_transactions() const { return false; }
  /// Until then transactions wait for locks, some of them in vain.
  virtual void contend_until(instant /*when*/) {}
  /// Until then connections break while transactions commit.
  virtual void break_off_until(instant /*when*/) {}
  /// Whether it waits for replicas, which may be late.
  [[nodiscard]] virtual bool has_replicas() const { return false; }
  /// The way to its replicas is stopped up until then.
  virtual void hold_back_replicas_until(instant /*when*/) {}

  /// What its clock and its grants are like.
  [[nodiscard]] virtual ledger::terms terms() const { return {}; }
  /// Whether the clock that ends claims can be set back at all.
  [[nodiscard]] virtual bool clock_goes_back() const { return false; }
  [[nodiscard]] virtual std::vector<standing> claims() { return {}; }
  /// Its process ends; connections, and what is not data, go with it.
  virtual void restart() {}
  /// The same, and a replica takes its place.
  virtual void fail_over() { restart(); }
  /// How long a server of this world grants nothing that may have forgotten grants; zero: it grants at once.
  [[nodiscard]] virtual duration guard() const { return {}; }
  /// Whether a primary may go on beside the replica that was promoted.
  [[nodiscard]] virtual bool has_former_primaries() const { return false; }
  /// A replica is promoted, and the primary goes on for the clients that are connected to it.
  /// \return whether the conditions hold under which nobody holds twice.
  [[nodiscard]] virtual bool promote_beside() { return false; }
  /// The former primary becomes a replica. Connections to it end, but for some.
  virtual void demote_former() {}
  /// Whether a connection outlives the failure of the primary: it leads to the server that takes over.
  [[nodiscard]] virtual bool leads_to_next(const line& /*way*/) { return false; }
  /// Throws away something that it was not told to. \return of which name; empty, where stores do not do
  /// that.
  [[nodiscard]] virtual std::optional<std::size_t> evict() { return std::nullopt; }
  /// Takes note of what is there, for a server that will come back with that.
  virtual void remember() {}
  /// Likewise, for the replica that will take over: it has acknowledged nothing that is written from now on.
  virtual void remember_as_replica() { remember(); }
  /// How many replicas have to acknowledge a grant in this world.
  [[nodiscard]] virtual unsigned replicas() const { return 0; }
  virtual void fall_back() {}
  virtual void forget() {}
  /// What has happened to what is not ours; empty: nothing.
  [[nodiscard]] virtual std::string damage() { return {}; }
};

}  // namespace holdfast::sim
