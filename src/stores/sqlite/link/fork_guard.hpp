#pragma once

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
  /// Locked while a database is open that no link has: a fork() waits for it.
  [[nodiscard]] static annotated::mutex& reading();

 private:
  static void watch_forks();
  static void before_fork() noexcept;
  static void in_parent() noexcept;
  static void in_child() noexcept;
};

}  // namespace holdfast::sqlite
