// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/owner_id.hpp"
#include "core/acquisition.hpp"
#include "core/machine.hpp"
#include "core/request.hpp"
#include "core/scheduler.hpp"
#include "runtime/claim_reports.hpp"
#include "runtime/driver.hpp"

// The operations of a driver: a machine and its user, for the driver's source alone.

namespace holdfast::runtime {

class driver::operation {
 public:
  operation() = default;
  operation(const operation&) = delete;
  operation& operator=(const operation&) = delete;
  virtual ~operation() = default;

  /// Keeps the answer of the machine, if it gives one.
  virtual store::wishes<tickets::request> resume(store::time_point now, std::uint64_t random,
                                                 const store::event<tickets::reply>& e) = 0;
  /// Gives the answer of the machine, if it has one, to the user.
  virtual void give_answer() = 0;
  virtual void forget_user() = 0;
  /// Of a claim: tells what its user cannot see otherwise.
  virtual void report(events::journal& /*to*/) {}
  /// For a claim: see port::error_now.
  [[nodiscard]] virtual std::optional<failure> error_at(store::time_point /*now*/) const {
    return std::nullopt;
  }

  std::uint64_t number = 0;     // in the order of starting
  std::size_t position = 0;     // among all that run
  std::size_t replies_due = 0;  // until the last of them is here, the link has a reference to it
  std::uint64_t request = 0;    // the last: see tickets::link::on_reply
  store::scheduler::timer timer = 0;
  owner_id owner;                     // of a claim
  bool is_release_requested = false;  // of a claim, before its client knows that it holds
  bool in_vain = false;
  bool finished = false;
};

template <class Machine, class Result>
class driver::operation_of final : public operation {
 public:
  template <class... Arguments>
  explicit operation_of(store::handler<Result>&& done, Arguments&&... of_machine)
      : machine_{std::forward<Arguments>(of_machine)...}, user_{std::move(done)} {}

  store::wishes<tickets::request> resume(store::time_point now, std::uint64_t random,
                                         const store::event<tickets::reply>& e) override {
    auto step = machine_.resume(now, random, e);
    if (step.answer) answer_ = std::move(step.answer);
    return step;  // without its answer
  }
  void give_answer() override {
    if (!answer_ || !user_) return;
    const auto user = std::exchange(user_, nullptr);
    user(std::move(*answer_));
  }
  void forget_user() override { user_ = nullptr; }
  void report(events::journal& to) override {
    // Once it is answered, or given up, its user hears the rest.
    if constexpr (is_claim) {
      if (user_ && !answer_) reports_.update(machine_, to);
    }
  }
  [[nodiscard]] std::optional<failure> error_at(store::time_point now) const override {
    if constexpr (is_claim) return machine_.error_at(now);
    return std::nullopt;
  }

 private:
  static constexpr bool is_claim = std::is_same_v<Machine, tickets::acquisition>;
  struct no_reports {};

  Machine machine_;
  store::handler<Result> user_;
  std::optional<Result> answer_;
  [[no_unique_address]] std::conditional_t<is_claim, claim_reports, no_reports> reports_{};
};

}  // namespace holdfast::runtime
