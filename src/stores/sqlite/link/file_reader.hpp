#pragma once

#include <chrono>
#include <cstdint>
#include <string>

struct sqlite3;
struct sqlite3_file;

namespace holdfast::sqlite {

/// A connection that can only read, and that leaves nothing behind.
///
/// Its file is SQLite's alone: whoever else closes it ends the locks that this process has on it (fcntl(2)).
class file_reader {
 public:
  /// \param limit a file that is locked is waited for, and all queries together may take. \throws broken.
  file_reader(const std::string& path, std::chrono::milliseconds limit);
  ~file_reader() { close(); }
  file_reader(const file_reader&) = delete;
  file_reader& operator=(const file_reader&) = delete;

  /// The first column of the first row, or zero. \throws broken.
  [[nodiscard]] std::int64_t number(const std::string& query);
  /// As the header of the file has it.
  [[nodiscard]] bool is_in_wal_mode() const;

 private:
  void begin();
  void open(const char* parameters);
  void close() noexcept;
  [[nodiscard]] sqlite3_file* opened() const;

  std::string path_;
  std::chrono::milliseconds limit_;
  std::chrono::steady_clock::time_point until_ = std::chrono::steady_clock::now() + limit_;
  sqlite3* db_ = nullptr;
};

}  // namespace holdfast::sqlite
