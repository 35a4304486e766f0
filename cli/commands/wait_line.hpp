// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "claim.hpp"
#include "commands/queue_pace.hpp"
#include "descriptor.hpp"
#include "output/terminal.hpp"
#include <holdfast/client.hpp>

namespace holdfast::cli {

/// Shows on a terminal who holds the lock, since when, and how many waiters are ahead. Of several names it
/// shows the one that is waited for. Of one that is held alone it estimates when its turn comes.
class wait_line {
 public:
  /// \param requested_at when the claim was sent, or before.
  wait_line(const client& locks, claim wish, boot_clock::time_point requested_at);

  /// Becomes readable when the line should be drawn again; -1 without a terminal.
  [[nodiscard]] int get() const noexcept;
  void draw();
  void clear() noexcept { line_.clear(); }

 private:
  [[nodiscard]] std::string text();
  /// `2 ahead in the queue; `, with when our turn may come, and what that estimate is made of. Empty where
  /// this process has no claim in it.
  [[nodiscard]] std::pair<std::string, std::string> place_in(const lock_state& lock);

  const client& locks_;
  claim wish_;
  boot_clock::time_point since_;
  queue_pace pace_;
  status_line line_;
  std::shared_ptr<event> changed_ = std::make_shared<event>();
  std::vector<std::shared_ptr<void>> watches_;  // of each name
};

/// A name of the claim with its state: the one in whose queue this process stands; else the first, in the
/// order of the command line, whose holders are in the way; else the first that others hold; else the first.
struct obstacle {
  std::string name;
  lock_state state;
};
/// \param requested_at of this process's claim, see is_own().
/// \param most_waiters to read of each name; with zero, queues are not looked at.
/// \param until no other name is read from then on; empty: all are. \throws holdfast::error
[[nodiscard]] obstacle obstacle_of(const client& locks, const claim& wish,
                                   boot_clock::time_point requested_at, std::size_t most_waiters,
                                   std::optional<boot_clock::time_point> until);

/// Whether this process made the claim since `requested_at`: by host, process id and age, because the claim
/// has no other mark. A former process may have had the same host and process id: the first of a container
/// that was started anew, one whose lock rests, or one of another container with the host's name.
[[nodiscard]] bool is_own(const claim_state& claim, boot_clock::time_point requested_at);

/// `held by backup on alpha, pid 4711 (nightly), for 2m05s`, and how many others hold it too.
[[nodiscard]] std::string holders_text(const lock_state& lock);

}  // namespace holdfast::cli
