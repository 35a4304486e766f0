// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "core/machine.hpp"
#include "simulation/scene.hpp"

namespace holdfast::sim {

/// What a server of SQL does to transactions, besides carrying them out: it refuses them, makes them wait for
/// each other's locks, ends those that wait for one another in a circle, and breaks off while they commit.
class transaction_faults {
 public:
  void begin(scene& in);
  void heal();

  /// Answers with an error, one of all that there are, to some or all of what comes in until then.
  void refuse_until(instant when);
  /// Transactions wait for locks until then; some find that they have waited in vain.
  void contend_until(instant when) { contends_until_ = when; }
  /// Until then, connections break in the middle of a commit.
  void break_off_until(instant when) { breaks_off_until_ = when; }

  /// How long a transaction waits before it goes on.
  [[nodiscard]] duration wait();
  /// What a transaction is answered instead of being committed, for which it may be tried again or not.
  /// \param waited for locks of others.
  /// \param writes it is more than a look.
  [[nodiscard]] std::optional<store::request_error> refusal(bool waited, bool writes);
  enum class fate : std::uint8_t { answered, committed_unheard, undone_unheard };
  /// What becomes of a commit.
  [[nodiscard]] fate commit();

  static constexpr duration longest_wait = std::chrono::milliseconds{400};

 private:
  scene* in_ = nullptr;
  instant refuses_until_{};
  instant contends_until_{};
  instant breaks_off_until_{};
  std::size_t refusal_ = 0;
  std::uint64_t refuses_one_in_ = 1;
};

/// Whether a transaction was given up for the sake of others, so that it should be tried again.
[[nodiscard]] bool is_victims(const store::request_error& t);

}  // namespace holdfast::sim
