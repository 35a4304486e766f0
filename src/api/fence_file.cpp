// SPDX-License-Identifier: Apache-2.0
#include "api/fence_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "base/failure.hpp"
#include "holdfast/boot_clock.hpp"
#include "holdfast/detail/handle.hpp"
#include "holdfast/error.hpp"

namespace holdfast {

namespace {

constexpr std::string_view header = "holdfast fence 1\n";
constexpr std::size_t check_digits = 16;

/// FNV-1a. It finds lines that were not completed; against somebody who writes into the file nothing helps.
std::string check_of(std::string_view text) {
  std::uint64_t sum = 0xcbf29ce484222325U;
  for (const char each : text) sum = (sum ^ static_cast<std::uint8_t>(each)) * 0x100000001b3U;
  std::array<char, check_digits + 1> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(sum));
  return digits.data();
}

}  // namespace

std::string line_of(const fence_record& record) {
  std::string text = std::to_string(record.token);
  if (!record.resource.empty()) text += ' ' + record.resource;
  return check_of(text) + ' ' + text + '\n';
}

std::optional<fence_record> record_of(std::string_view line) {
  if (line.size() < check_digits + 2 || line[check_digits] != ' ') return std::nullopt;
  const std::string_view text = line.substr(check_digits + 1);
  if (line.substr(0, check_digits) != check_of(text)) return std::nullopt;
  fence_record record;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), record.token).ptr;
  if (end == text.data()) return std::nullopt;
  const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  if (!rest.empty()) record.resource = rest.substr(1);
  return record;
}

fence_file::fence_file(const std::filesystem::path& path, duration wait)
    : path_{path}, name_{path.filename().string()} {
  constexpr std::chrono::milliseconds pause{10};
  const auto folder = path.parent_path();
  try {
    if (name_.empty() || name_ == "." || name_ == "..")
      throw error{errc::foreign_store, "the file of a fence: '" + path.string() + "' names no file"};
    folder_ = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder_ < 0) fail(errno, "its folder cannot be opened");
    const auto until = boot_clock::now() + detail::to_limit(wait);
    while (!try_lock()) {
      if (boot_clock::now() >= until) {
        throw error{errc::timeout, "the file of a fence: " + path.string() +
                                       " is in use by another process, or by another fence of this one"};
      }
      std::this_thread::sleep_for(pause);
    }
    struct stat info{};
    if (::fstat(fd_, &info) != 0) fail(errno, "it cannot be examined");
    if (info.st_size == 0) rewrite({});
  } catch (...) {
    if (fd_ >= 0) ::close(fd_);
    if (folder_ >= 0) ::close(folder_);
    throw;
  }
}

fence_file::~fence_file() {
  // A child process may have inherited the descriptor. A fork of this process must not end the lock of its
  // parent.
  if (runtime::process_generation() == generation_) ::flock(fd_, LOCK_UN);
  ::close(fd_);
  ::close(folder_);
}

bool fence_file::try_lock() {
  for (;;) {
    // The name of a pipe must not block; for a file the flag means nothing.
    constexpr int flags = O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    if (fd_ < 0) fd_ = ::openat(folder_, name_.c_str(), flags, S_IRUSR | S_IWUSR);
    const auto refuse = [&](errc code, const char* problem) {
      throw error{code, "the file of a fence: " + path_.string() + ' ' + problem};
    };
    if (fd_ < 0 && errno == ELOOP) refuse(errc::foreign_store, "is a symbolic link; give the file itself");
    if (fd_ < 0 && errno == EISDIR) refuse(errc::foreign_store, "is a folder");
    if (fd_ < 0) fail(errno, "it cannot be opened");
    struct stat info{};
    if (::fstat(fd_, &info) != 0) fail(errno, "it cannot be examined");
    if (!S_ISREG(info.st_mode)) refuse(errc::foreign_store, "is no plain file");
    // Another name would keep the old content when the file is rewritten.
    if (info.st_nlink > 1) refuse(errc::foreign_store, "has several names (hard links)");
    if (info.st_uid != ::geteuid()) refuse(errc::permission_denied, "belongs to another user");
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno != EWOULDBLOCK) fail(errno, "it cannot be locked");
      ::close(std::exchange(fd_, -1));
      return false;
    }
    if (has_its_name()) return true;
    ::close(std::exchange(fd_, -1));  // it was replaced between open and flock: the new one counts
  }
}

bool fence_file::has_its_name() const noexcept {
  struct stat opened{};
  struct stat named{};
  return ::fstat(fd_, &opened) == 0 && ::fstatat(folder_, name_.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

std::vector<fence_record> fence_file::read() {
  std::string content;
  std::array<char, 1 << 16> part{};
  ssize_t got = 0;
  while ((got = ::pread(fd_, part.data(), part.size(), static_cast<off_t>(content.size()))) > 0)
    content.append(part.data(), static_cast<std::size_t>(got));
  if (got < 0) fail(errno, "it cannot be read");
  if (!content.starts_with(header)) {
    throw error{errc::foreign_store, "the file of a fence: " + path_.string() +
                                         " has another content, and is left as it is; choose another path"};
  }
  // A user who may open the file may keep it locked.
  if (::fchmod(fd_, S_IRUSR | S_IWUSR) != 0) fail(errno, "its mode cannot be set");
  std::vector<fence_record> records;
  std::size_t at = header.size();
  while (at < content.size()) {
    const auto end = content.find('\n', at);
    auto record =
        end == content.npos ? std::nullopt : record_of(std::string_view{content}.substr(at, end - at));
    const bool is_last = end == content.npos || end + 1 == content.size();
    if (!record && !is_last) {
      throw error{
          errc::corrupt_store,
          "the file of a fence: " + path_.string() + " is damaged: line " +
              std::to_string(std::count(content.begin(), content.begin() + static_cast<long>(at), '\n') + 1) +
              ". Remove it when no late holder can act any more"};
    }
    if (!record) {
      // Its append never returned. The next line must not be joined to it.
      if (::ftruncate(fd_, static_cast<off_t>(at)) != 0) fail(errno, "its last line cannot be removed");
      break;
    }
    records.push_back(*std::move(record));
    at = end + 1;
  }
  // A writer that was killed, or whose sync failed, leaves records that only the page cache has.
  if (::fsync(fd_) != 0) fail(errno, "it cannot be written");
  if (::fsync(folder_) != 0) fail(errno, "its folder cannot be written");
  size_ = records.size();
  return records;
}

void fence_file::require_its_name() const {
  if (has_its_name()) return;
  throw error{errc::unavailable, "the file of a fence: " + path_.string() +
                                     " was removed or replaced while it was in use; start anew"};
}

void fence_file::append(const fence_record& record) {
  require_its_name();
  const std::string line = line_of(record);
  has_failed_ = true;  // until it is on the disk
  write(fd_, line, "it cannot be written");
  if (::fdatasync(fd_) != 0) fail(errno, "it cannot be written");
  has_failed_ = false;
  ++size_;
}

void fence_file::rewrite(const std::vector<fence_record>& records) {
  constexpr const char* task = "it cannot be rewritten";
  std::string content{header};
  for (const fence_record& each : records) content += line_of(each);
  const std::string beside = name_ + ".new";
  if (::unlinkat(folder_, beside.c_str(), 0) != 0 && errno != ENOENT) fail(errno, task);
  const int fd = ::openat(folder_, beside.c_str(),
                          O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd < 0) fail(errno, task);
  try {
    // Before it has the name: nobody else may lock it first.
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0) fail(errno, task);
    write(fd, content, task);
    if (::fsync(fd) != 0) fail(errno, task);
    require_its_name();
    if (::renameat(folder_, beside.c_str(), folder_, name_.c_str()) != 0) fail(errno, task);
  } catch (...) {
    ::unlinkat(folder_, beside.c_str(), 0);  // it may fill the disk
    ::close(fd);
    throw;
  }
  ::close(std::exchange(fd_, fd));
  size_ = records.size();
  has_failed_ = true;  // until the disk has the new name
  if (::fsync(folder_) != 0) fail(errno, "its folder cannot be written");
  has_failed_ = false;
}

void fence_file::write(int fd, std::string_view text, const char* task) const {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(errno, task);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void fence_file::fail(int system_error, const char* task) const {
  throw error{code_of(system_error),
              "the file of a fence: " + path_.string() + ": " + task + ": " + std::strerror(system_error)};
}

}  // namespace holdfast
