// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "core/link.hpp"

namespace holdfast::test {

/// A link with the test at its other end: it keeps what was sent, in order, until the test answers.
class scripted_link final : public tickets::link {
 public:
  void send(tickets::request request, on_reply done) override {
    ++sent_;
    open_.push_back({std::move(request), std::move(done)});
  }
  void take_back(std::uint64_t request) override {
    if (!unsent) return;
    for (std::size_t i = 0; i < open_.size(); ++i)
      if (open_[i].done.request == request) return answer(store::unsent(*unsent), i);
  }
  [[nodiscard]] bool joins(const std::vector<std::string_view>& /*names*/) const override {
    return is_joining;
  }
  void on_notifications(on_notification handler) override { on_notification_ = std::move(handler); }
  void on_gap(const std::function<void()>& missed) override { missed_ = missed; }
  std::shared_ptr<void> watch(store::watched, std::function<void()>) override {
    return std::exchange(next_watch, nullptr);
  }
  [[nodiscard]] std::optional<store::time_point> session_until() const override { return session; }
  void on_session(const std::function<void()>& extended) override { extended_ = extended; }
  void help(store::caller&) override {}
  bool drive() override { return false; }
  void kick() override {}

  /// How many requests were ever sent, and how many of them have no answer yet.
  [[nodiscard]] std::size_t sent() const { return sent_; }
  [[nodiscard]] std::size_t open() const { return open_.size(); }
  [[nodiscard]] const tickets::request& request(std::size_t which = 0) const {
    return open_.at(which).request;
  }
  /// Answers one; the oldest, unless told otherwise.
  void answer(outcome with, std::size_t which = 0) {
    if (which >= open_.size()) throw std::out_of_range{"nothing was asked that could be answered"};
    const auto at = open_.begin() + static_cast<std::ptrdiff_t>(which);
    const on_reply done = std::move(at->done);
    open_.erase(at);
    done(std::move(with));
  }
  void notify(const store::notification& n) { on_notification_(n); }
  /// Notifications may have been lost.
  void lose_notifications() { missed_(); }

  void extend_session(store::time_point until) {
    session = until;
    if (extended_) extended_();
  }

  std::optional<failure> unsent;  // why nothing of what is open was sent
  std::optional<store::time_point> session;
  std::shared_ptr<void> next_watch;
  bool is_joining = false;

 private:
  struct pending {
    tickets::request request;
    on_reply done;
  };
  std::deque<pending> open_;
  std::size_t sent_ = 0;
  on_notification on_notification_;
  std::function<void()> missed_;
  std::function<void()> extended_;
};

}  // namespace holdfast::test
