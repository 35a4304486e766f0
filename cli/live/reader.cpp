// SPDX-License-Identifier: Apache-2.0
#include "live/reader.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <fmt/format.h>
#include <utility>

#include "output/text.hpp"
#include "why/headlines.hpp"
#include <holdfast/error.hpp>

namespace holdfast::cli {

namespace {

using namespace std::chrono_literals;

/// So that the end of an outage is noticed soon, whatever the pace.
constexpr duration longest_pause_after_failure = 2s;
/// Between two readings of all queues for deadlocks, and at least so many times as long as one takes.
constexpr boot_clock::duration deadlocks_pause = 5s;
constexpr int deadlocks_share = 20;

}  // namespace

store_reader::store_reader(client& locks, pace how_often) : locks_{locks}, pace_{how_often} {
  watch_ = locks.watch([this] {
    const std::scoped_lock lock{mutex_};
    has_changed_ = true;
    wake_.notify_all();
  });
  thread_ = std::jthread{[this](const std::stop_token& stop) { run(stop); }};
}

store_reader::~store_reader() {
  thread_.request_stop();
  locks_.close();  // ends what it waits for
  if (thread_.joinable()) thread_.join();
  watch_.reset();
}

void store_reader::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    // Those after a failure.
    pace pauses{std::min(pace_.shortest_pause, longest_pause_after_failure),
                std::min(pace_.longest_pause, longest_pause_after_failure)};
    try {
      read_once();
      pauses = {std::max(pace_.shortest_pause, reading_time()), pace_.longest_pause};
    } catch (const error& problem) {
      if (problem.code() == errc::closed) return;
      say(problem.what(), true);
    } catch (const std::exception& problem) {  // of the system: out of memory, say
      say(problem.what(), true);
    }
    std::unique_lock lock{mutex_};
    const auto is_urgent = [this] { return !actions_.empty(); };
    if (wake_.wait_for(lock, stop, pauses.shortest_pause, is_urgent)) continue;
    wake_.wait_for(lock, stop, pauses.longest_pause - std::min(pauses.shortest_pause, pauses.longest_pause),
                   [&] { return has_changed_ || is_urgent(); });
  }
}

void store_reader::read_once() {
  const auto began = boot_clock::now();
  std::vector<std::string> waits;
  std::string detail;
  std::vector<std::function<std::string(const client&)>> actions;
  {
    const std::scoped_lock lock{mutex_};
    has_changed_ = false;
    waits = wanted_waits_;
    detail = wanted_detail_;
    actions = std::exchange(actions_, {});
  }
  for (const auto& action : actions) carry_out(action);
  if (!actions.empty()) deadlocks_due_ = {};  // it may have ended one
  view seen;
  seen.when = boot_clock::now();
  seen.locks = locks_.list();
  seen.longest_waits = waits_of(waits);
  seen.inspected = std::move(waits);
  if (pace_.with_headlines) seen.headlines = headlines_of(seen.locks);
  if (!detail.empty()) {
    seen.detail = locks_.inspect(detail, most_waiters).value_or(lock_state{});
    seen.detail->name = detail;
  }
  publish(std::move(seen), std::chrono::duration_cast<duration>(boot_clock::now() - began));
}

/// One that fails keeps the others from nothing.
void store_reader::carry_out(const std::function<std::string(const client&)>& action) {
  try {
    say(action(locks_), false);
  } catch (const error& problem) {
    if (problem.code() == errc::closed) throw;
    say(problem.what(), true);
  }
}

wait_lengths store_reader::waits_of(const std::vector<std::string>& names) const {
  wait_lengths result;
  for (const std::string& name : names) {
    try {
      const auto state = locks_.inspect(name, 1);
      if (state && !state->waiters.empty()) result.emplace(name, state->waiters.front().age);
    } catch (const error& problem) {
      // Whoever may write to the store can make a key there that is the name of no lock.
      if (problem.code() != errc::invalid_name) throw;
    }
  }
  return result;
}

std::vector<std::string> store_reader::headlines_of(const std::vector<lock_summary>& locks) {
  const auto began = boot_clock::now();
  if (began >= deadlocks_due_) {
    deadlocks_ = deadlock_headlines(locks_, locks);
    const auto now = boot_clock::now();
    deadlocks_due_ = now + std::max(deadlocks_pause, deadlocks_share * (now - began));
  }
  auto all = deadlocks_;
  if (auto pause = pause_headline(locks_, locks)) all.insert(all.begin(), *std::move(pause));
  return all;
}

void store_reader::publish(view seen, duration reading_time) {
  const std::scoped_lock lock{mutex_};
  reading_time_ = reading_time;
  answered_at_ = boot_clock::now();
  view_ = std::move(seen);
  arrived_.raise();
}

void store_reader::say(std::string text, bool is_error) {
  const std::scoped_lock lock{mutex_};
  constexpr std::size_t longest = 1000;  // of a terminal that takes nothing for hours
  if (message_) {                        // nobody has seen it yet
    is_error = is_error || message_->is_error;
    if (message_->text.ends_with(text)) {
      text = message_->text;
    } else if (message_->text.size() < longest) {
      text = message_->text + "; " + text;
    }
  }
  message_ = news{std::move(text), is_error, boot_clock::now()};
  arrived_.raise();
}

std::optional<store_reader::view> store_reader::take() {
  const std::scoped_lock lock{mutex_};
  static_cast<void>(arrived_.take());
  return std::exchange(view_, std::nullopt);
}

std::optional<store_reader::news> store_reader::take_message() {
  const std::scoped_lock lock{mutex_};
  return std::exchange(message_, std::nullopt);
}

std::optional<boot_clock::time_point> store_reader::answered_at() const {
  const std::scoped_lock lock{mutex_};
  return answered_at_;
}

duration store_reader::reading_time() const {
  const std::scoped_lock lock{mutex_};
  return reading_time_;
}

void store_reader::want(std::vector<std::string> waits, std::string detail, bool soon) {
  const std::scoped_lock lock{mutex_};
  if (detail != wanted_detail_ || (soon && waits != wanted_waits_)) has_changed_ = true;
  wanted_waits_ = std::move(waits);
  wanted_detail_ = std::move(detail);
  wake_.notify_all();
}

void store_reader::perform(std::function<std::string(const client&)> action) {
  const std::scoped_lock lock{mutex_};
  actions_.push_back(std::move(action));
  wake_.notify_all();
}

}  // namespace holdfast::cli
