#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "core/acquisition.hpp"
#include "runtime/claim_reports.hpp"
#include "runtime/driver.hpp"

// The operations of a driver: a machine and its user, for the driver's source alone.

namespace holdfast::runtime {

struct driver::operation {
  operation() = default;
  operation(const operation&) = delete;
  operation& operator=(const operation&) = delete;
  virtual ~operation() = default;
  /// What the machine wants. Its answer stays here, if it has a user, until `answer`.
  struct wants {
    std::optional<tickets::request> send;
    std::optional<store::time_point> wake_at;
    bool answered = false;
    bool finished = false;
    bool in_vain = false;
  };
  virtual wants resume(store::time_point now, std::uint64_t random,
                       const store::event<tickets::reply>& e) = 0;
  /// Runs the user's handler, which may destroy the operation.
  virtual void answer() = 0;
  virtual void forget_user() = 0;
  /// Of a claim: tells what its user cannot see otherwise.
  virtual void report(events::journal& /*to*/) {}
  /// For a claim: see port::error_now.
  [[nodiscard]] virtual std::optional<failure> error_at(store::time_point /*now*/) const {
    return std::nullopt;
  }

  store::scheduler::timer timer = 0;
  owner_id owner;                     // of acquisitions
  bool is_release_requested = false;  // likewise: of a claim that holds already, as its client will hear
  bool in_vain = false;
};

template <class Machine, class Result>
struct driver::operation_of final : operation {
  static constexpr bool is_claim = std::is_same_v<Machine, tickets::acquisition>;
  struct no_reports {
    explicit no_reports(const Machine& /*of*/) {}
  };
  operation_of(Machine m, store::handler<Result> done) : machine{std::move(m)}, user{std::move(done)} {}
  wants resume(store::time_point now, std::uint64_t random, const store::event<tickets::reply>& e) override {
    auto step = machine.resume(now, random, e);
    wants w;
    w.send = std::move(step.send);
    w.wake_at = step.wake_at;
    w.finished = step.finished;
    w.in_vain = step.in_vain;
    if (step.answer && user) {
      result = std::move(step.answer);
      w.answered = true;
    }
    return w;
  }
  void answer() override {
    const store::handler<Result> done = *std::exchange(user, std::nullopt);
    Result given = *std::exchange(result, std::nullopt);
    if (done) done(std::move(given));
  }
  void forget_user() override { user.reset(); }
  void report(events::journal& to) override {
    // Once it is answered, or given up, its user hears the rest.
    if constexpr (is_claim) {
      if (user && !result) reports.update(machine, to);
    }
  }
  [[nodiscard]] std::optional<failure> error_at(store::time_point now) const override {
    if constexpr (is_claim) return machine.error_at(now);
    return std::nullopt;
  }

  Machine machine;
  std::optional<store::handler<Result>> user;
  std::optional<Result> result;
  [[no_unique_address]] std::conditional_t<is_claim, claim_reports, no_reports> reports{machine};
};

}  // namespace holdfast::runtime
