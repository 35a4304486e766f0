// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "descriptor.hpp"
#include "live/first_waiters.hpp"
#include <holdfast/client.hpp>

namespace holdfast::cli {

/// Reads a store again and again on a thread of its own, so that a slow one keeps nobody from the keyboard,
/// or from an answer.
class store_reader {
 public:
  struct pace {
    duration shortest_pause;  ///< between two readings, also while the store tells of changes
    duration longest_pause;  ///< what ends with its ttl changes nothing at the store: it is read now and then
    bool with_headlines = false;  ///< see view::headlines
  };
  /// A pause is also as long as the reading before it, so that the store is left alone half of the time.
  /// After a reading that failed it is at most two seconds.
  /// \param locks is closed when this ends, and cannot be used afterwards.
  store_reader(client& locks, pace how_often);
  ~store_reader();
  store_reader(const store_reader&) = delete;
  store_reader& operator=(const store_reader&) = delete;

  /// Of the name of which all is wanted.
  static constexpr std::size_t most_waiters = 200;

  /// What the store had at one time.
  struct view {
    std::vector<lock_summary> locks;
    std::vector<std::string> inspected;  // the names whose wait was wanted, whether somebody waits or not
    wait_lengths longest_waits;
    std::optional<lock_state> detail;    // of the name that was wanted
    std::vector<std::string> headlines;  // why nothing is granted, and deadlocks
    boot_clock::time_point when;
  };
  /// Readable when there is something to take.
  [[nodiscard]] int get() const noexcept { return arrived_.get(); }
  /// The last view, if there is a new one.
  [[nodiscard]] std::optional<view> take();
  struct news {
    std::string text;
    bool is_error = false;
    boot_clock::time_point when;
  };
  /// What was done, or the error of the last request; empty: none, since the last time.
  [[nodiscard]] std::optional<news> take_message();
  /// When the store last answered.
  [[nodiscard]] std::optional<boot_clock::time_point> answered_at() const;
  /// How long the last reading took that succeeded; zero: none did.
  [[nodiscard]] duration reading_time() const;

  /// Names of which the wait is wanted, and the one of which all is; empty: none. Another one than before is
  /// read without waiting for a change or the longest pause.
  /// \param soon if the names are others than before, likewise.
  void want(std::vector<std::string> waits, std::string detail, bool soon);
  /// Does this soon. \param action returns the message.
  void perform(std::function<std::string(const client&)> action);

 private:
  void run(const std::stop_token& stop);
  void read_once();
  void carry_out(const std::function<std::string(const client&)>& action);
  [[nodiscard]] wait_lengths waits_of(const std::vector<std::string>& names) const;
  [[nodiscard]] std::vector<std::string> headlines_of(const std::vector<lock_summary>& locks);
  void publish(view seen, duration reading_time);
  void say(std::string text, bool is_error);

  client& locks_;
  pace pace_;
  event arrived_;
  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  bool has_changed_ = true;
  std::vector<std::string> wanted_waits_;
  std::string wanted_detail_;
  std::vector<std::function<std::string(const client&)>> actions_;
  std::optional<view> view_;
  std::optional<news> message_;
  std::optional<boot_clock::time_point> answered_at_;
  duration reading_time_{};
  std::vector<std::string> deadlocks_;  // as they were read last; of the thread alone
  boot_clock::time_point deadlocks_due_{};
  std::shared_ptr<void> watch_;
  std::jthread thread_;  // the last: it uses the others
};

}  // namespace holdfast::cli
