// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>

namespace holdfast::contract {

/// A thread, and whether it sleeps: what it was to do, it waits for.
class sleeping_thread {
 public:
  explicit sleeping_thread(std::function<void()> body)
      : thread_{[this, body = std::move(body)] {
          id_ = ::gettid();
          body();
          ended_ = true;
        }} {}

  /// Waits until it sleeps. False when it ended instead.
  [[nodiscard]] bool sleeps() const {
    while (!ended_) {
      if (id_ != 0) {
        std::ifstream file{"/proc/self/task/" + std::to_string(id_) + "/stat"};
        std::string stat;
        std::getline(file, stat);
        const auto state = stat.rfind(") ");
        if (state != std::string::npos && stat.compare(state + 2, 1, "S") == 0) return true;
      }
      std::this_thread::yield();
    }
    return false;
  }
  [[nodiscard]] bool has_ended() const { return ended_; }
  void join() { thread_.join(); }

 private:
  std::atomic<::pid_t> id_{0};
  std::atomic<bool> ended_{false};
  std::jthread thread_;  // last: it uses the others
};

}  // namespace holdfast::contract
