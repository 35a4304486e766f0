// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/link.hpp"
#include "core/request.hpp"
#include "core/scheduler.hpp"
#include "core/single_flight.hpp"
#include "holdfast/fencing_token.hpp"
#include "holdfast/state.hpp"

namespace holdfast::runtime {

/// Watches single names at a store that only says that any name may have changed: inspects the watched ones
/// then, and reports those whose claims differ from the last look. A renewal is no difference. A claim that
/// came and went between two looks is one, because it has drawn a token: somebody else may have seen it.
///
/// A name costs one inspection for each burst of changes, of which only one is in flight.
///
/// All functions are called under the core lock, and so is the handler.
class state_watch {
 public:
  /// `send` of the store's link.
  using sender = std::function<void(tickets::request, tickets::link::on_reply)>;

  /// \param time must outlive it. \param send must call no handler after its destruction.
  /// \param changed gets the name: it has changed, or could not be inspected.
  state_watch(store::scheduler& time, sender send, std::function<void(const std::string& name)> changed)
      : time_{time}, send_{std::move(send)}, changed_{std::move(changed)} {}
  state_watch(const state_watch&) = delete;
  state_watch& operator=(const state_watch&) = delete;

  /// The first inspection is reported as a change: it sees everything from before, and a later one the rest.
  void add(const std::string& name);
  void remove(const std::string& name) { names_.erase(name); }
  [[nodiscard]] bool empty() const { return names_.empty(); }
  /// Any name may have changed.
  void look();
  /// This name may have changed.
  void look(const std::string& name);
  /// The same, and changes may have been missed: every name is reported.
  void look_anew();
  /// Looks no more. Idempotent.
  void stop();

 private:
  /// What of a state is compared.
  struct snapshot {
    std::vector<std::pair<std::string, fencing_token>> holders;
    std::vector<std::pair<std::string, fencing_token>> waiters;
    std::vector<mode> modes;               // of the holders
    std::vector<std::uint64_t> revisions;  // of their values: see claimant::value_revision
    fencing_token last_token;
    std::int64_t capacity = 0;
    std::string pause_reason;
    friend bool operator==(const snapshot&, const snapshot&) = default;
  };
  struct watched_name {
    std::uint64_t number = 0;  // tells a name from one that was removed and added again
    std::optional<snapshot> seen;
    store::single_flight inspection{};
    bool is_due = false;  // with the next look
  };

  [[nodiscard]] static snapshot snapshot_of(const std::optional<lock_state>& state);
  void look_soon();
  void inspect_due();
  void ask(const std::string& name, watched_name& n,
           std::shared_ptr<tickets::listing_state> so_far = nullptr);
  void answered(const std::string& name, std::uint64_t number, const tickets::link::outcome& outcome);

  store::scheduler& time_;
  const sender send_;
  const std::function<void(const std::string& name)> changed_;
  std::map<std::string, watched_name> names_;
  std::uint64_t last_number_ = 0;
  store::time_point last_look_{};
  store::scheduler::timer next_look_ = 0;
};

}  // namespace holdfast::runtime
