// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/link/mailbox.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "runtime/signals.hpp"
#include "stores/sql/protocol/notification.hpp"
#include "stores/sqlite/link/place.hpp"

namespace holdfast::sqlite {

namespace {

constexpr std::size_t notification_size = owner_id::size + sizeof(std::int64_t);
constexpr std::size_t notifications_per_write = PIPE_BUF / notification_size;  // such a write is atomic
constexpr std::size_t name_size = 2 * owner_id::size;
/// Blocks that are read at one wake-up. The loop's thread also runs the timers: whoever writes without a
/// pause must not keep it from them. What is left wakes it again.
constexpr int blocks_at_once = 16;

void close_if_open(int descriptor) {
  if (descriptor >= 0) ::close(descriptor);
}

struct opened {
  int descriptor = -1;
  bool is_dead = false;  // a FIFO without a reader
};

/// Opens a FIFO for writing. Any other file that somebody has put in its place is not opened.
opened open_for_writing(int folder, const char* name) {
  const int out = ::openat(folder, name, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);
  if (out < 0) return {-1, errno == ENXIO};
  struct stat info{};
  if (::fstat(out, &info) == 0 && S_ISFIFO(info.st_mode)) return {out, false};
  ::close(out);
  return {};
}

bool is_own_fifo(int folder, const char* name) {
  struct stat info{};
  if (::fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0) return false;
  return S_ISFIFO(info.st_mode) && info.st_uid == ::geteuid();
}

/// Removes FIFOs only: a socket without a listener fails like a FIFO without a reader.
void remove_own_fifo(int folder, const char* name) {
  if (is_own_fifo(folder, name)) ::unlinkat(folder, name, 0);
}

/// Calls `visit` with each name in a folder, until it returns false.
/// \return false: the folder cannot be read.
template <class Visit>
bool visit_names(int folder, Visit visit) {
  const int again = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* entries = again < 0 ? nullptr : ::fdopendir(again);
  if (entries == nullptr) {
    close_if_open(again);
    return false;
  }
  while (const dirent* entry = ::readdir(entries)) {
    if (!visit(entry->d_name)) break;
  }
  ::closedir(entries);
  return true;
}

/// Whether there is nothing in a folder.
bool is_empty(int folder) {
  bool empty = true;
  const bool is_read = visit_names(folder, [&](std::string_view name) {
    empty = name == "." || name == "..";
    return empty;
  });
  return is_read && empty;
}

/// Gives a new file the database's group, and the rights of group and others. Where the group cannot be set,
/// its rights are those of others. Where all of this fails, other users still find their grants by polling.
void share(int descriptor, const struct stat& database, mode_t mode) {
  const bool given = ::fchown(descriptor, static_cast<uid_t>(-1), database.st_gid) == 0;
  const mode_t others = mode & 0007U;
  static_cast<void>(::fchmod(descriptor, given ? mode : (mode & ~0070U) | others << 3U) == 0);
}

/// Opens the folder of the FIFOs, and makes it first where there is none; -1 where it cannot be trusted: a
/// symbolic link, or a folder of a user who may not write the database.
int open_folder(const std::string& path, const struct stat& database) {
  const bool is_new = ::mkdir(path.c_str(), 0700) == 0;
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (folder < 0) return -1;
  struct stat info{};
  struct stat above{};
  if (::fstat(folder, &info) != 0 || ::fstatat(folder, "..", &above, 0) != 0 ||
      !is_of_a_writer(info, database, above)) {
    ::close(folder);
    return -1;
  }
  constexpr mode_t write_by_others = S_IWGRP | S_IWOTH;
  // A user who may write the parent folder could have put another folder of this user here since. Such a
  // folder is not empty, or this user has opened it to others on purpose.
  if (is_new && info.st_uid == ::geteuid() && (info.st_mode & 0077U) == 0 && is_empty(folder)) {
    const mode_t mode = database.st_mode & 0666U;
    const mode_t to_enter = (mode & 0444U) >> 2U;  // to read is to enter
    // Sticky: FIFOs are removed and renamed by their owners alone.
    const mode_t sticky = (mode & write_by_others) != 0 ? S_ISVTX : 0;
    share(folder, database, mode | to_enter | 0700U | sticky);
  }
  return folder;
}

}  // namespace

mailbox::mailbox(runtime::event_loop& on, std::string database, on_notifications read)
    : loop_{on}, database_{std::move(database)}, read_{std::move(read)} {}

void mailbox::open() {
  if (std::exchange(begun_, true)) return;
  make();
  if (in_ < 0) return;
  listening_ = loop_.on_readable(in_, [this] { receive(); });
  remove_dead();
}

mailbox::~mailbox() { close(); }

void mailbox::close() noexcept {
  begun_ = true;
  listening_.reset();
  if (in_ >= 0) remove_own_fifo(folder_, address_.hex().c_str());
  close_if_open(std::exchange(in_, -1));
  close_if_open(std::exchange(folder_, -1));
}

/// The FIFO has the database's mode and group: a user who may write the database may also write to its
/// clients. All steps use descriptors: others may write the folder, and could replace the new FIFO by a
/// symbolic link to another file of this user.
void mailbox::make() {
  struct stat info{};
  if (::lstat(database_.c_str(), &info) != 0) return;
  folder_ = open_folder(database_ + "-wake", info);
  if (folder_ < 0) return;
  // Under another name until it is read: `remove_dead` of other clients removes FIFOs that nobody reads.
  const std::string name = address_.hex();
  const std::string unread = name + ".new";
  if (::mkfifoat(folder_, unread.c_str(), 0600) != 0) return;
  // For reading and writing, so that a read never finds the end of the file.
  in_ = ::openat(folder_, unread.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);
  struct stat made{};
  const bool is_ours = in_ >= 0 && ::fstat(in_, &made) == 0 && S_ISFIFO(made.st_mode) &&
                       made.st_uid == ::geteuid() && made.st_nlink == 1 && (made.st_mode & 0077U) == 0;
  if (is_ours) share(in_, info, info.st_mode & 0666U);
  if (!is_ours || ::renameat(folder_, unread.c_str(), folder_, name.c_str()) != 0) {
    remove_own_fifo(folder_, unread.c_str());
    close_if_open(std::exchange(in_, -1));
  }
}

void mailbox::send(const owner_id& to, const std::vector<store::notification>& notifications) noexcept {
  if (folder_ < 0) return;
  const std::string name = to.hex();
  const auto [out, is_dead] = open_for_writing(folder_, name.c_str());
  if (is_dead) remove_own_fifo(folder_, name.c_str());
  if (out < 0) return;
  const runtime::no_sigpipe guard;  // its reader may go away this very moment
  for (std::size_t first = 0; first < notifications.size(); first += notifications_per_write) {
    const std::size_t count = std::min(notifications_per_write, notifications.size() - first);
    std::array<char, notifications_per_write * notification_size> bytes{};
    for (std::size_t i = 0; i < count; ++i) {
      const store::notification& n = notifications[first + i];
      const std::int64_t token = sql::signed_token_of(n);
      std::memcpy(&bytes[i * notification_size], n.owner.bytes().data(), owner_id::size);
      std::memcpy(&bytes[i * notification_size + owner_id::size], &token, sizeof token);
    }
    static_cast<void>(::write(out, bytes.data(), count * notification_size) >= 0);
  }
  ::close(out);
}

void mailbox::receive() {
  std::array<char, notifications_per_write * notification_size> bytes{};
  for (int block = 0; block < blocks_at_once; ++block) {
    const ssize_t got = ::read(in_, bytes.data(), bytes.size());
    if (got <= 0) return;
    std::vector<store::notification> notifications;
    for (std::size_t at = 0; at + notification_size <= static_cast<std::size_t>(got);
         at += notification_size) {
      std::int64_t token = 0;
      std::memcpy(&token, &bytes[at + owner_id::size], sizeof token);
      notifications.push_back(
          sql::notification_of(*owner_id::from_bytes({&bytes[at], owner_id::size}), token));
    }
    read_(notifications);
  }
}

/// Removes the FIFOs of this user's clients that were killed; a bounded number at each opening.
void mailbox::remove_dead() {
  constexpr int own_at_most = 64;
  constexpr int entries_at_most = 4096;
  int entries = 0;
  int own = 0;
  visit_names(folder_, [&](const char* name) {
    if (std::string_view{name}.size() == name_size && is_own_fifo(folder_, name)) {
      ++own;
      const auto [out, is_dead] = open_for_writing(folder_, name);
      if (is_dead) remove_own_fifo(folder_, name);
      close_if_open(out);
    }
    return ++entries < entries_at_most && own < own_at_most;
  });
}

}  // namespace holdfast::sqlite
