// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/annotated_mutex.hpp"

namespace holdfast::sqlite {

class link;

/// Keeps SQLite sound across fork(). SQLite remembers per process, not per connection, which file locks it
/// has; a child that inherits this memory without the locks would corrupt the file. So no link opens or
/// closes its database or is in a transaction while the process forks, and a child closes what it inherited
/// before it opens anything.
class fork_guard {
 public:
  /// Call before the link opens its database.
  static void add(link& l);
  /// Call after the link has closed its database.
  static void remove(link& l) noexcept;
  /// Call before opening a database.
  static void close_inherited();
  /// Call before opening a database. Closes those of the links that have the path open, and are not in place
  /// any more. SQLite shares its map of a file's -shm within a process: what is opened anew would get that of
  /// the file that was removed. Without the `executing` of any link.
  static void close_replaced(const std::string& path);
  /// The same for a link that executes. \return false, with some of them open: they are in use, or the
  /// process forks.
  [[nodiscard]] static bool try_to_close_replaced(const link& opening);
  /// Locked while a database is open that no link has: a fork() waits for it.
  [[nodiscard]] static annotated::mutex& reading();

 private:
  static void watch_forks();
  static void before_fork() noexcept;
  static void in_parent() noexcept;
  static void in_child() noexcept;
};

}  // namespace holdfast::sqlite
