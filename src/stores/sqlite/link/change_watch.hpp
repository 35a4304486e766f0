// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/event_loop.hpp"

namespace holdfast::sqlite {

/// Notices commits to a database by any process: inotify(7) on its folder, which also sees the -wal file
/// being replaced, and a regular look at the -wal file in case the kernel has no watch left. For observers
/// only: a waiting claim learns of its grant from its mailbox.
class change_watch {
 public:
  /// Under the core lock.
  /// \param changed called under the core lock, on the loop's thread.
  change_watch(runtime::event_loop& on, const std::string& database, std::function<void()> changed);
  /// Without the core lock, by any thread. `changed` is not called afterwards.
  ~change_watch();
  change_watch(const change_watch&) = delete;
  change_watch& operator=(const change_watch&) = delete;

 private:
  void receive();
  void look_again();

  runtime::event_loop& loop_;
  std::string file_;  // the name in its folder
  std::string wal_;   // the path
  std::function<void()> changed_;
  int inotify_ = -1;
  std::shared_ptr<void> listening_;
  runtime::event_loop::timer next_look_ = 0;
  std::pair<long, long> seen_{};  // size and time of the -wal file
};

}  // namespace holdfast::sqlite
