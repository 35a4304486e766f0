// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lease/lease_manager.hpp"
#include "runtime/driver.hpp"
#include "simulation/outcome.hpp"
#include "simulation/quorum/quorum_store.hpp"
#include "simulation/surroundings.hpp"
#include "simulation/world.hpp"

namespace holdfast::sim {

/// A client that does as a scenario says: the core of one, on a link.
class actor {
 public:
  actor(surroundings& around, std::uint8_t number);
  ~actor();
  actor(const actor&) = delete;
  actor& operator=(const actor&) = delete;

  /// Asks for the lock of a scenario.
  void lock(duration ttl, bool wait = true, bool renews = true);
  /// Waits for it as the candidate of an election does: whatever the store refuses for a while.
  void stand(duration ttl);
  void release();
  /// To the resource that the lock guards, whether or not it still holds.
  void write() {
    if (lease_) around_.sees.write(lease_, grant_);
  }
  [[nodiscard]] bool holds() const { return lease_ && lease_->held_at(at.now()); }
  /// Of its last grant; zero: there was none.
  [[nodiscard]] fencing_token token() const { return lease_ ? lease_->hold.token : fencing_token{}; }
  /// What a look at the name says, once it has answered.
  void look() {
    driver_.inspect(name_of(0), 0, at.now() + std::chrono::seconds{2},
                    [this](const store::inspected& answer) {
                      if (const auto* state = std::get_if<std::optional<lock_state>>(&answer)) seen_ = *state;
                    });
  }
  /// Whether the last look has shown its hold, by its token.
  [[nodiscard]] bool is_shown() const {
    return seen_ && seen_->holders.size() == 1 && lease_ &&
           seen_->holders.front().token == lease_->hold.token;
  }
  /// The last claim was answered.
  [[nodiscard]] bool is_answered() const { return is_answered_; }
  [[nodiscard]] const owner_id& owner() const { return owner_; }

  host at;
  line way;

 private:
  [[nodiscard]] store::claim claim_for(duration ttl);
  void ask(store::claim wanted);

  surroundings& around_;
  std::unique_ptr<tickets::link> link_;
  runtime::driver driver_;
  lease_core::operations operations_;
  std::unique_ptr<lease_core::lease_manager> leases_;
  lease_core::lease_record_ptr lease_;
  ledger::grant grant_;
  owner_id owner_;
  bool is_answered_ = false;
  std::optional<lock_state> seen_;
};

/// Servers whose clocks agree, and the actors, on a network that loses nothing.
class stage {
 public:
  static constexpr std::size_t servers_of_a_client = 3;

  /// \param servers more than those of one client: then the clients name some of them.
  stage(const circumstances& under, duration silence, std::size_t servers);

  actor& enter();
  /// A client that names only these servers, which keep the set of their clients.
  actor& enter(std::vector<std::size_t> servers);
  /// False once something was found.
  bool run(duration length) { return in.run_until(in.now + length); }
  void require(bool holds, const std::string& otherwise) { in.require(holds, otherwise); }
  [[nodiscard]] quorum_store::node& server(std::size_t index) { return store.nodes().at(index); }
  /// A server's process ends, and another takes its place.
  void restart(std::size_t index, bool forgets);
  /// Nothing of the actor's reaches that server until then.
  void part(actor& from, std::size_t server, duration length) {
    store.way(from.at, server).go_half_open(true, true, in.now + length);
  }

  scene in;
  site calm;
  quorum_ledger counts;
  witness sees;
  quorum_store store;
  surroundings around;

 private:
  std::deque<actor> actors_;
};

}  // namespace holdfast::sim
