// SPDX-License-Identifier: Apache-2.0
#include "run/file_lock.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>

#include "failure.hpp"

namespace holdfast::cli {

namespace {

failure cannot_lock(const std::string& path, int code) {
  return {code == EACCES || code == EPERM ? permission_denied : store_unavailable,
          fmt::format("cannot lock the file '{}': {}", path, std::strerror(code))};
}

failure unfit(const std::string& path, const char* kind) {
  return {store_unavailable, fmt::format("cannot lock the file '{}': it is {}", path, kind)};
}

/// In a folder that others may write to, somebody may have put a link there, or a pipe or a device, which
/// opening alone may affect.
void require_file(const struct stat& found, const std::string& path) {
  if (S_ISLNK(found.st_mode)) throw unfit(path, "a symbolic link; give the file itself");
  if (!S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode)) throw unfit(path, "neither a file nor a folder");
}

/// For writing if this user may, because NFS grants an exclusive lock to no others.
descriptor open_file(const std::string& path) {
  struct stat found{};
  if (::lstat(path.c_str(), &found) == 0) require_file(found, path);
  constexpr int flags = O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK;
  constexpr mode_t mode = S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH;  // less the umask
  descriptor file{::open(path.c_str(), flags | O_RDWR | O_CREAT, mode)};
  if (!file) {
    const int code = errno;
    file = descriptor{::open(path.c_str(), flags | O_RDONLY)};  // a folder, or of another user
    if (!file) throw cannot_lock(path, code == EISDIR ? errno : code);
  }
  if (::fstat(file.get(), &found) != 0) throw cannot_lock(path, errno);
  require_file(found, path);
  return file;
}

/// The file may have been removed or replaced since it was opened. Then others lock another one.
bool has_its_name(const descriptor& file, const std::string& path) {
  struct stat opened{};
  struct stat named{};
  return ::fstat(file.get(), &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/// \return zero, or the error.
int lock(const descriptor& file, int operation) noexcept {
  while (::flock(file.get(), operation) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

/// A call of flock(2) that waits, which has no limit. Trying again and again would never get a file that
/// others, flock(1) among them, wait for in the kernel.
struct waiting_call {
  explicit waiting_call(descriptor of) : file{std::move(of)} {}

  descriptor file;
  event ended;
  std::atomic<int> error = still_waiting;  // zero: it is locked
  static constexpr int still_waiting = -1;
};

/// \return the signal that interrupted it. \param file empty afterwards unless it is locked.
std::optional<int> await_lock(descriptor& file, const std::string& path,
                              std::optional<boot_clock::time_point> until, signal_inbox& signals,
                              const ends_wait& ends) {
  const auto call = std::make_shared<waiting_call>(std::move(file));
  std::thread{[call] {
    call->error = lock(call->file, LOCK_EX);
    call->ended.raise();
  }}.detach();
  const auto has_ended = [&] { return call->error != waiting_call::still_waiting; };
  const auto interrupted_by = await_change(call->ended.get(), has_ended, until, signals, ends);
  // The signal has been taken, so nothing else ends this process if the file was locked meanwhile.
  if (interrupted_by || !has_ended()) return interrupted_by;
  if (call->error != 0) throw cannot_lock(path, call->error);
  file = std::move(call->file);
  return std::nullopt;
}

}  // namespace

file_lock::~file_lock() {
  if (file_) ::flock(file_.get(), LOCK_UN);
}

file_wait await_file(const std::string& path, std::optional<boot_clock::time_point> until,
                     signal_inbox& signals, const ends_wait& ends) {
  for (;;) {
    descriptor file = open_file(path);
    const int refused = lock(file, LOCK_EX | LOCK_NB);
    if (refused != 0 && refused != EWOULDBLOCK) throw cannot_lock(path, refused);
    if (refused != 0) {
      if (until && boot_clock::now() >= *until) return {};
      const auto interrupted_by = await_lock(file, path, until, signals, ends);
      if (!file) return {{}, interrupted_by};
    }
    if (!has_its_name(file, path)) continue;
    ::fcntl(file.get(), F_SETFD, 0);  // for the command
    return {file_lock{std::move(file)}};
  }
}

}  // namespace holdfast::cli
