// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <gtest/gtest.h>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "core/acquisition.hpp"
#include "core/samples.hpp"

namespace holdfast::test {

/// One acquisition, fed by hand. Whatever is fed, it holds the machine to what every machine owes: one
/// request at a time, nothing after the end, one answer, and a grant that counts from a request that was
/// answered.
class stepper {
 public:
  using step = tickets::acquisition::step;

  explicit stepper(store::claim claim = a_claim())
      : machine_{std::make_shared<const store::claim>(std::move(claim))} {}

  step start() { return feed(store::started{}); }
  step wake() { return feed(store::woken{}); }
  step cancel() { return feed(store::cancelled{}); }
  step notify(const store::notification& n) { return feed(n); }
  step reply(tickets::reply r) {
    // To find a claim keeps nothing, and nobody knows which of its requests made it.
    if (task_ != task::find) answered_.push_back(sent_);
    under_way_ = false;
    return feed(store::replied<tickets::reply>{std::move(r)});
  }
  step fail(const store::request_error& t) {
    under_way_ = false;
    return feed(store::replied<tickets::reply>{t});
  }
  /// Asks, and gets a place in the queue.
  step queue(const tickets::place& at) {
    start();
    return reply(at);
  }

  void pass(duration time) { now += time; }
  void pass_until(const std::optional<store::time_point>& when) { now = when.value(); }

  [[nodiscard]] bool under_way() const { return under_way_; }
  [[nodiscard]] bool finished() const { return finished_; }
  [[nodiscard]] bool answered() const { return has_answer_; }

  store::time_point now = epoch;
  std::uint64_t chance = 0;

  [[nodiscard]] const failure* last_error() const { return machine_.last_error(); }

 private:
  step feed(const store::event<tickets::reply>& e) {
    EXPECT_FALSE(finished_) << "fed after its end";
    step s = machine_.resume(now, chance, e);
    if (s.send) {
      EXPECT_FALSE(under_way_) << "two requests under way";
      EXPECT_FALSE(s.finished) << "a request whose reply nobody will hear";
      under_way_ = true;
      sent_ = now;
      task_ = task_of(*s.send);
    }
    if (s.answer) {
      EXPECT_FALSE(std::exchange(has_answer_, true)) << "two answers";
      if (const auto* g = std::get_if<store::granted>(&*s.answer)) {
        EXPECT_NE(std::find(answered_.begin(), answered_.end(), g->valid_from), answered_.end())
            << "a grant has to count from the sending of a request that was answered";
      }
    }
    if (!s.finished) {
      EXPECT_TRUE(under_way_ || s.wake_at || waits_) << "nothing would ever wake it";
    }
    waits_ = s.wake_at || (waits_ && !s.send);
    finished_ = s.finished;
    return s;
  }

  tickets::acquisition machine_;
  std::vector<store::time_point> answered_;
  task task_{};
  store::time_point sent_;
  bool under_way_ = false;
  bool waits_ = false;
  bool finished_ = false;
  bool has_answer_ = false;
};

/// Whether a step does nothing at all.
[[nodiscard]] inline bool is_quiet(const stepper::step& s) {
  return !s.send && !s.wake_at && !s.answer && !s.finished;
}
/// What it sends, if anything.
[[nodiscard]] inline std::optional<task> task_of(const stepper::step& s) {
  return s.send ? std::optional{task_of(*s.send)} : std::nullopt;
}
[[nodiscard]] inline std::optional<store::granted> grant_of(const stepper::step& s) {
  if (!s.answer || !std::holds_alternative<store::granted>(*s.answer)) return std::nullopt;
  return std::get<store::granted>(*s.answer);
}
[[nodiscard]] inline std::error_code failure_of(const stepper::step& s) {
  if (!s.answer || !std::holds_alternative<failure>(*s.answer)) return {};
  return std::get<failure>(*s.answer).code;
}

}  // namespace holdfast::test
