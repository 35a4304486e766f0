// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/options.hpp"
#include "runtime/process.hpp"

namespace holdfast {

/// One line of the file of a fence.
struct fence_record {
  std::string resource;  ///< empty: the token is the floor
  std::uint64_t token = 0;

  friend bool operator==(const fence_record&, const fence_record&) = default;
};

/// The file of a fence: a line that names the format, then a line for each record, in the order in which they
/// were written: the check (FNV-1a of 64 bits, in hexadecimal digits), the token, and the resource if there
/// is one, separated by spaces.
///
/// Appending and rewriting are durable when they return. Whoever has this object has the file locked.
class fence_file {
 public:
  /// Opens and locks it. An empty file, or none, becomes one of this format.
  /// \throws holdfast::error as the constructor of fence.
  fence_file(const std::filesystem::path& path, duration wait);
  ~fence_file();
  fence_file(const fence_file&) = delete;
  fence_file& operator=(const fence_file&) = delete;

  /// Every record, oldest first; all are durable when it returns. To be called once, before the first append.
  /// A last line that was not completed is removed, and the mode becomes 0600.
  [[nodiscard]] std::vector<fence_record> read();
  /// \throws holdfast::error if the record may not be durable.
  void append(const fence_record& record);
  /// Replaces the content by way of a new file.
  /// \throws holdfast::error; the old content is there then, unless only the sync of the folder failed.
  void rewrite(const std::vector<fence_record>& records);
  /// A write failed: the end of the file, and what the disk has of it, is not known. It has to be rewritten.
  [[nodiscard]] bool has_failed() const noexcept { return has_failed_; }
  /// \throws holdfast::error errc::unavailable if the file was removed or replaced.
  void require_its_name() const;
  [[nodiscard]] int descriptor() const noexcept { return fd_; }
  /// The number of records in the file.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  /// \return whether it is locked; else somebody else has it.
  [[nodiscard]] bool try_lock();
  /// Whether the file that is open is the one that has the name.
  [[nodiscard]] bool has_its_name() const noexcept;
  [[noreturn]] void fail(int system_error, const char* task) const;
  void write(int fd, std::string_view text, const char* task) const;

  std::filesystem::path path_;  // for messages
  std::string name_;            // in the folder, which may have another path by now
  int folder_ = -1;
  int fd_ = -1;
  std::size_t size_ = 0;
  bool has_failed_ = false;
  const std::uint32_t generation_ = runtime::process_generation();
};

/// The text of a record, with its end of line.
[[nodiscard]] std::string line_of(const fence_record& record);
/// \param line without its end. \return nothing if the check fails.
[[nodiscard]] std::optional<fence_record> record_of(std::string_view line);

}  // namespace holdfast
