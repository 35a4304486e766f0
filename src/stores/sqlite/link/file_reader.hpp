#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <sys/types.h>

#include "stores/sqlite/link/place.hpp"

struct sqlite3;
struct sqlite3_file;

namespace holdfast::sqlite {

/// What changes in a database, or beside it, when another process writes it.
struct file_state {
  file_identity database;
  file_identity wal;
  off_t size = 0;
  std::int64_t modified_s = 0;
  std::int64_t modified_ns = 0;

  [[nodiscard]] static file_state of(const std::string& path) noexcept;
  friend bool operator==(const file_state&, const file_state&) = default;
};

/// A connection that can only read, and that leaves nothing behind.
///
/// Its file is SQLite's alone: whoever else closes it ends the locks that this process has on it (fcntl(2)).
class file_reader {
 public:
  /// \param until a file that is locked is waited for, and queries may take.
  /// \throws broken.
  file_reader(const std::string& path, std::chrono::steady_clock::time_point until);
  ~file_reader();
  file_reader(const file_reader&) = delete;
  file_reader& operator=(const file_reader&) = delete;

  /// Whether the file, or its -wal, has changed since the constructor.
  [[nodiscard]] bool has_changed() const;
  /// Whether it is read without locks: after a change, what was read may be torn.
  [[nodiscard]] bool is_without_locks() const noexcept { return is_immutable_; }

  /// The first column of the first row. None: there was no time to find it. \throws broken.
  [[nodiscard]] std::optional<std::string> text(const std::string& query);
  [[nodiscard]] std::optional<std::int64_t> number(const std::string& query);
  /// \throws broken also where there was no time to find it.
  [[nodiscard]] std::int64_t required_number(const std::string& query);

  /// The format that the file's header names.
  [[nodiscard]] std::string journal_mode() const;

 private:
  using change_counter = std::array<unsigned char, 4>;

  void open(const char* parameters);
  void close() noexcept;
  void begin();
  [[nodiscard]] bool is_in_wal_mode() const;
  [[nodiscard]] change_counter counter() const;
  [[nodiscard]] sqlite3_file* opened() const;
  static int is_late(void* self);

  std::string path_;
  std::chrono::steady_clock::time_point until_;
  file_state before_;
  change_counter counter_before_{};
  sqlite3* db_ = nullptr;
  bool is_immutable_ = false;
};

}  // namespace holdfast::sqlite
