// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "output/terminal.hpp"
#include <holdfast/boot_clock.hpp>

namespace holdfast::cli {

/// Tells on a terminal, once a second, for how long a call has blocked: `listing the locks: 3s`. Says nothing
/// in the first half second, because most calls are over by then. It has a thread for that, and none without
/// a terminal. The destructor wipes the line; nothing else may be written to the terminal before.
class elapsed_line {
 public:
  /// \param task printable.
  explicit elapsed_line(std::string task);
  ~elapsed_line();
  elapsed_line(const elapsed_line&) = delete;
  elapsed_line& operator=(const elapsed_line&) = delete;

 private:
  void tell();

  std::string task_;
  status_line line_;
  boot_clock::time_point since_ = boot_clock::now();
  std::mutex guard_;
  std::condition_variable changed_;
  bool over_ = false;
  std::optional<std::jthread> teller_;
};

}  // namespace holdfast::cli
