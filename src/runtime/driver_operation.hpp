#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "core/acquisition.hpp"
#include "runtime/claim_reports.hpp"
#include "runtime/driver.hpp"

// The operations of a driver: a machine and its user, for the driver's source alone.

namespace holdfast::runtime {

/// The handler of a user and its result. Made with the operation: there may be no memory in the end.
struct driver::receiver {
  receiver() = default;
  receiver(const receiver&) = delete;
  receiver& operator=(const receiver&) = delete;
  virtual ~receiver() = default;
  virtual void give() = 0;
};

template <class Result>
struct driver::receiver_of final : receiver {
  explicit receiver_of(store::handler<Result> d) : done{std::move(d)} {}
  void give() override {
    if (done) done(std::move(*result));
  }

  store::handler<Result> done;
  std::optional<Result> result;
};

struct driver::operation {
  operation() = default;
  operation(const operation&) = delete;
  operation& operator=(const operation&) = delete;
  virtual ~operation() = default;
  /// What the machine wants, its answer already with its user's handler, if there is one.
  struct wants {
    std::optional<tickets::request> send;
    std::optional<store::time_point> wake_at;
    std::unique_ptr<receiver> answer;
    bool finished = false;
    bool in_vain = false;
  };
  virtual wants resume(store::time_point now, std::uint64_t random,
                       const store::event<tickets::reply>& e) = 0;
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
  operation_of(Machine m, store::handler<Result> done)
      : machine{std::move(m)}, user{std::make_unique<receiver_of<Result>>(std::move(done))} {}
  wants resume(store::time_point now, std::uint64_t random, const store::event<tickets::reply>& e) override {
    auto step = machine.resume(now, random, e);
    wants w;
    w.send = std::move(step.send);
    w.wake_at = step.wake_at;
    w.finished = step.finished;
    w.in_vain = step.in_vain;
    if (step.answer && user) {
      user->result = std::move(step.answer);
      w.answer = std::move(user);
    }
    return w;
  }
  void forget_user() override { user.reset(); }
  void report(events::journal& to) override {
    // Once it is answered, or given up, its user hears the rest.
    if constexpr (is_claim) {
      if (user) reports.update(machine, to);
    }
  }
  [[nodiscard]] std::optional<failure> error_at(store::time_point now) const override {
    if constexpr (is_claim) return machine.error_at(now);
    return std::nullopt;
  }

  Machine machine;
  std::unique_ptr<receiver_of<Result>> user;
  [[no_unique_address]] std::conditional_t<is_claim, claim_reports, no_reports> reports{machine};
};

}  // namespace holdfast::runtime
