// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "lease/lease_manager.hpp"
#include "lease/set_claims.hpp"
#include "simulation/candidate_user.hpp"
#include "simulation/host.hpp"
#include "simulation/line.hpp"
#include "simulation/release_asker.hpp"
#include "simulation/set_user.hpp"
#include "simulation/surroundings.hpp"
#include "simulation/user.hpp"
#include "simulation/watched_port.hpp"

namespace holdfast::sim {

/// A computer, and on it one process after another that uses the library: all of its core as in production,
/// the driver, the keeper and the lease manager, between users and a link.
class client {
 public:
  client(surroundings& around, std::uint8_t number, clock boot, clock wall, duration latency,
         std::size_t users);

  void start();
  /// The process is gone, and notifies nobody.
  void kill();
  void retire();
  void close();
  void force_release(std::size_t name);

  /// Its candidate; null where it has none.
  [[nodiscard]] candidate_user* of_election() {
    return process_ && process_->of_election ? &*process_->of_election : nullptr;
  }
  [[nodiscard]] bool lives() const { return process_ != nullptr; }
  [[nodiscard]] bool waits_since_before() const;
  [[nodiscard]] bool is_done() const;
  /// What is still under way, or will still wake up.
  [[nodiscard]] std::size_t busy() const;

  host at;
  line way;

 private:
  /// The order is that of building, so each outlives what is built on it.
  struct process {
    process(surroundings& around, client& of);

    std::unique_ptr<tickets::link> link;
    watched_link watched;
    watched_port port;
    lease_core::operations operations;
    lease_core::lease_manager leases;
    lease_core::set_claims sets;
    std::deque<user> users;
    std::optional<set_user> of_several;  // names at once
    std::optional<candidate_user> of_election;
    std::optional<release_asker> asker;
  };

  void start_requests();

  surroundings& around_;
  std::size_t users_;
  std::unique_ptr<process> process_;
};

}  // namespace holdfast::sim
