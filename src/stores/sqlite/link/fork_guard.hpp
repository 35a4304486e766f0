#pragma once

namespace holdfast::sqlite {

class link;

/// Keeps SQLite sound across fork(). SQLite remembers per process, not per connection, which file locks it
/// has; a child that inherits this memory without the locks would corrupt the file. So no link is in a
/// transaction while the process forks, and a child closes what it inherited before it opens anything.
class fork_guard {
 public:
  static void add(link& l);
  static void remove(link& l) noexcept;
  /// Call before opening a database.
  static void close_inherited();

 private:
  static void before_fork() noexcept;
  static void in_parent() noexcept;
  static void in_child() noexcept;
};

}  // namespace holdfast::sqlite
