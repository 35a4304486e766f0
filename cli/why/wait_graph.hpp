// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include <holdfast/state.hpp>

namespace holdfast::cli {

/// A hold of a name, or a place in its queue.
struct claim_on {
  std::string name;
  claim_state claim;
  std::size_t place = 0;  ///< in the queue, from 1; zero for a hold
};

/// A process with its claims.
struct party {
  claimant process;             ///< of one of its claims, of a hold where there is one
  std::vector<claim_on> holds;  ///< in the order of the names
  std::vector<claim_on> waits;
  /// The parties in the command of this `holdfast run` (see claimant::job), by their positions in the graph.
  /// It releases nothing before they are over.
  std::vector<std::size_t> commands;
};

/// Who waits for whom, as the locks of one store were at one time.
class wait_graph {
 public:
  /// \param locks each name once.
  explicit wait_graph(std::vector<lock_state> locks);

  [[nodiscard]] const std::vector<lock_state>& locks() const noexcept { return locks_; }
  /// Null where the name is not among them.
  [[nodiscard]] const lock_state* find(const std::string& name) const;
  /// \param claim one of a lock of this graph.
  [[nodiscard]] const party& party_of(const claim_state& claim) const;
  /// \param position one of party::commands.
  [[nodiscard]] const party& at(std::size_t position) const { return parties_.at(position); }
  /// What a party waits for, and what the commands in it wait for.
  [[nodiscard]] std::vector<claim_on> all_waits(const party& of) const;

  /// The processes that wait for one another in cycles: nothing that the others do lets them go on. Found by
  /// reduction of the graph of resources (Holt, "Some deadlock properties of computer systems", 1972):
  /// whoever can be granted a claim goes on and gives back all it has, until nobody is left who can. Of those
  /// left, whoever holds up nobody merely waits for a deadlock. A process that waits for a lock of its own is
  /// taken to release it in another thread. So is, where it waits several times, one whose other claim is
  /// granted. A name that rests after its release keeps nobody for ever.
  /// \return for each deadlock its parties: two at least.
  [[nodiscard]] std::vector<std::vector<const party*>> deadlocks() const;

 private:
  using index = std::size_t;
  using flags = std::vector<bool>;

  /// The parties of the claims of a lock, in their order.
  struct parties_of_lock {
    std::vector<index> holders;
    std::vector<index> waiters;
  };

  /// The parties among `stuck` that keep a waiter of a lock from its grant.
  [[nodiscard]] std::vector<index> blockers(index lock, index waiter, const flags& stuck) const;
  [[nodiscard]] std::vector<index> blockers_of(index party, const flags& stuck) const;
  [[nodiscard]] bool can_go_on(index party, const flags& stuck) const;
  [[nodiscard]] flags reduced() const;
  void leave_out_mere_waiters(flags& stuck) const;

  std::vector<lock_state> locks_;
  std::vector<parties_of_lock> members_;  // of each lock
  std::vector<party> parties_;
  std::map<std::string, index> numbers_;    // of parties, by what identifies them
  std::map<std::string, index> positions_;  // of locks, by name
};

/// The locks of the second observation with the claims that the first one has too, in the same role. Each of
/// them has stood from the first to the second. So all of them stood at the moment between the observations,
/// although neither observed all names at one moment: a cycle among them is no artefact.
/// \param first, second of the same names.
[[nodiscard]] std::vector<lock_state> in_both(const std::vector<lock_state>& first,
                                              std::vector<lock_state> second);

}  // namespace holdfast::cli
