#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "bent/rendezvous.hpp"
#include "simulation/host.hpp"
#include "simulation/rendezvous_watch.hpp"
#include "simulation/surroundings.hpp"

namespace holdfast::sim {

/// One who counts down a latch and waits for it, or a party of a barrier: with limits and without, and with
/// one object after another. It gives up a call now and then, and makes it again.
class rendezvous_user {
 public:
  using type = bent_lease::rendezvous::type;

  rendezvous_user(surroundings& around, host& at, bent_lease::rendezvous_calls& through, type kind);

  void live();
  /// Ends the waits that it is at, soon. Then, however long it has to wait: counts down a latch and sees it
  /// open; passes two phases of a barrier, and goes on as long as the others want.
  void retire();
  /// That lease has been lost. A wait ends with the loss of what its object has counted.
  void require_told(const lease_core::lease_record_ptr& lost);
  /// Its client closes.
  void close() { closed_ = true; }
  /// Its process ends.
  void die();

  /// Whether it has waited since before it was told to retire.
  [[nodiscard]] bool waits_since_before() const { return before_ != nullptr; }
  [[nodiscard]] bool is_done() const { return rounds_ >= (kind_ == type::latch ? 1 : 2); }

 private:
  /// What a user of the library has: a latch, or a party of a barrier.
  struct object {
    bent_lease::rendezvous_ptr at;
    std::int64_t number = 1;  // that it counts down by
    std::optional<bent_lease::rendezvous_calls::call_id> call;
    [[nodiscard]] const std::string& name() const { return at->self.label; }
  };
  using object_ptr = std::shared_ptr<object>;

  [[nodiscard]] object_ptr make(duration ttl, bool renews);
  void meet();
  void meet_last();
  void start(bent_lease::rendezvous_call call, std::optional<duration> limit);
  void on_met(const object_ptr& of, const bent_lease::rendezvous_call& call,
              const bent_lease::arrived& result);
  void judge(const object& of, const bent_lease::rendezvous_call& call, const bent_lease::arrived& result);
  void go_on(bool has_passed);
  void go_on_last(const bent_lease::rendezvous_call& call, bool has_passed);
  void leave(const object_ptr& of);
  void tell_what_stays(const object& of);
  [[nodiscard]] bool has_counted() const;
  [[nodiscard]] bool has_to_count() const;

  surroundings& around_;
  host& host_;
  bent_lease::rendezvous_calls& calls_;
  const type kind_;
  const std::size_t name_;
  object_ptr object_;
  object_ptr before_;  // the one whose call is from before it retires
  std::uint64_t objects_ = 0;
  bool retired_ = false;
  instant retired_at_{};
  bool closed_ = false;
  int rounds_ = 0;
};

}  // namespace holdfast::sim
