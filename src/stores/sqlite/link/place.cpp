// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/link/place.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <pwd.h>
#include <sstream>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/failure.hpp"
#include "holdfast/error.hpp"

namespace holdfast::sqlite {

namespace {

[[noreturn]] void refuse(errc code, const std::string& message) { throw error{code, message}; }

std::string reason() { return std::strerror(errno); }

/// As `mkdir -p`, with folders for this user alone.
void make_folders(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return;
  if (errno != ENOENT) refuse(code_of(errno), "the folder " + folder + " cannot be made: " + reason());
  make_folders(std::filesystem::path{folder}.parent_path().string());
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    refuse(code_of(errno), "the folder " + folder + " cannot be made: " + reason());
  }
}

std::string folder_of(const std::string& path) {
  const std::string parent = std::filesystem::path{path}.parent_path().string();
  return parent.empty() ? "." : parent;
}

void require_access(const std::string& path, const char* kind) {
  if (::access(path.c_str(), R_OK | W_OK) == 0) return;
  if (errno == ENOENT) return;  // a file still to be made
  refuse(code_of(errno),
         std::string{"the "} + kind + " " + path + " cannot be read and written by this user: " + reason());
}

}  // namespace

std::string default_path() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return std::string{state} + "/holdfast/locks.db";
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home != '/') {
    const passwd* user = ::getpwuid(::getuid());
    home = user != nullptr ? user->pw_dir : nullptr;
  }
  if (home == nullptr || *home != '/') {
    refuse(errc::invalid_url,
           "sqlite: without a path needs XDG_STATE_HOME or HOME, and neither is set; give a path or set one "
           "of them");
  }
  return std::string{home} + "/.local/state/holdfast/locks.db";
}

const char* network_filesystem(long magic) {
  struct known {
    long magic;
    const char* name;
  };
  // From linux/magic.h and statfs(2). Their locks or their shared memory do not reach other hosts reliably.
  constexpr std::array<known, 13> all{{{0x6969, "NFS"},
                                       {0xFF534D42, "CIFS"},
                                       {0x517B, "SMB"},
                                       {0xFE534D42, "SMB2"},
                                       {0x00C36400, "Ceph"},
                                       {0x5346414F, "AFS"},
                                       {0x6B414653, "kAFS"},
                                       {0x01021997, "9p"},
                                       {0x65735546, "FUSE"},
                                       {0x7461636F, "OCFS2"},
                                       {0x01161970, "GFS2"},
                                       {0x0BD00BD0, "Lustre"},
                                       {0x47504653, "GPFS"}}};
  for (const known& fs : all) {
    if ((magic & 0xFFFFFFFFL) == fs.magic) return fs.name;
  }
  return nullptr;
}

std::string resolved(const std::string& path) {
  constexpr int links_at_most = 40;  // as the kernel has it
  const auto cannot_follow = [&](const std::string& detail) {
    refuse(code_of(errno), "the path " + path + " cannot be followed: " + detail);
  };
  std::error_code code;
  const std::filesystem::path whole = std::filesystem::absolute(path, code);
  if (code) refuse(code_of(code.value()), "the path " + path + " cannot be followed: " + code.message());
  std::deque<std::string> rest{whole.begin(), whole.end()};
  std::string found;  // without links; empty: the root
  int links = 0;
  while (!rest.empty()) {
    const std::string part = rest.front();
    rest.pop_front();
    if (part.empty() || part == "/" || part == ".") continue;
    if (part == "..") {
      found.erase(std::min(found.size(), found.rfind('/')));
      continue;
    }
    std::string next = found;
    next.append("/").append(part);
    struct stat info{};
    if (::lstat(next.c_str(), &info) != 0 && errno != ENOENT && errno != ENOTDIR) cannot_follow(reason());
    if (!S_ISLNK(info.st_mode)) {  // also where there is no file yet
      found = next;
      continue;
    }
    if (info.st_uid != ::geteuid() && info.st_uid != 0) {
      refuse(errc::permission_denied, next + " is a symbolic link of another user (uid " +
                                          std::to_string(info.st_uid) +
                                          "), who could redirect it; give the path of the file itself");
    }
    if (++links > links_at_most) {
      errno = ELOOP;
      cannot_follow(reason());
    }
    const std::filesystem::path target = std::filesystem::read_symlink(next, code);
    if (code) refuse(code_of(code.value()), "the path " + path + " cannot be followed: " + code.message());
    if (target.is_absolute()) found.clear();
    rest.insert(rest.begin(), target.begin(), target.end());
  }
  return found.empty() ? "/" : found;
}

bool is_of_a_writer(const struct stat& neighbour, const struct stat& database,
                    const struct stat& folder) noexcept {
  const uid_t owner = neighbour.st_uid;
  if (owner == ::geteuid() || owner == 0 || owner == database.st_uid) return true;
  // Nobody can give a file to a group without being its member. A set-group-ID folder does that for everybody
  // who may write it, and the file may have been moved from such a folder to one that everybody may write.
  const bool is_open = (folder.st_mode & S_IWOTH) != 0;
  const bool is_of_group = neighbour.st_gid == database.st_gid && !is_open;
  const bool group = (database.st_mode & S_IWGRP) != 0 && is_of_group;
  return group || (database.st_mode & S_IWOTH) != 0;
}

std::optional<wrong_neighbour> find_wrong_neighbour(const std::string& path) {
  struct stat database{};
  if (::lstat(path.c_str(), &database) != 0) {
    database = {};  // not there yet: the files beside it may belong to this user and root
    database.st_uid = ::geteuid();
  }
  struct stat folder{};
  if (::stat(folder_of(path).c_str(), &folder) != 0) return std::nullopt;  // nor is anything in it
  for (const char* suffix : {"-journal", "-wal", "-shm"}) {
    const std::string beside = path + suffix;
    struct stat info{};
    if (::lstat(beside.c_str(), &info) != 0) continue;
    if (!S_ISREG(info.st_mode)) return wrong_neighbour{beside, "is not a plain file"};
    if (info.st_nlink > 1) return wrong_neighbour{beside, "has several names (hard links)"};
    if (!is_of_a_writer(info, database, folder)) {
      return wrong_neighbour{beside, "belongs to a user who may not write the database (uid " +
                                         std::to_string(info.st_uid) + ")"};
    }
  }
  return std::nullopt;
}

void check_neighbours(const std::string& path) {
  const auto wrong = find_wrong_neighbour(path);
  if (!wrong) return;
  std::string text = wrong->path;
  refuse(errc::permission_denied,
         text.append(" ").append(wrong->problem).append("; remove it while nobody uses ").append(path));
}

void check_place(const std::string& path, bool anywhere) {
  const std::string folder = folder_of(path);
  if (::access(folder.c_str(), F_OK) != 0 && errno == ENOENT) return;
  struct statfs fs{};
  if (!anywhere && ::statfs(folder.c_str(), &fs) == 0) {
    if (const char* name = network_filesystem(fs.f_type)) {
      refuse(errc::unavailable, folder + " is on a network file system (" + name +
                                    "), where SQLite's locks are not safe; choose a local folder, or accept "
                                    "the risk with ?network_fs=1");
    }
  }
  struct stat info{};
  if (::lstat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    refuse(errc::foreign_store, path + " is not a plain file; choose another path");
  }
  constexpr off_t header = 100;  // what every SQLite file begins with; SQLite takes less for an empty file
  if (info.st_size > 0 && info.st_size < header) {
    refuse(errc::corrupt_store,
           path + " is neither empty nor an SQLite file; move it away, or choose another path");
  }
  if (info.st_nlink > 1) {
    refuse(errc::unavailable, path + " has " + std::to_string(info.st_nlink) +
                                  " names (hard links), and SQLite is safe with one only; remove the others");
  }
  if (is_mount_point(path)) {
    refuse(errc::unavailable,
           path +
               " is a mount point itself, so its -wal and -shm are not those that others find "
               "beside the file; mount its folder instead of the file");
  }
  if (::access(folder.c_str(), R_OK | W_OK | X_OK) != 0) {
    refuse(code_of(errno),
           "the folder " + folder +
               " cannot be written by this user, and SQLite needs it for its -wal file: " + reason());
  }
  require_access(path, "file");
}

void prepare_place(const std::string& path, bool anywhere, bool makes_folders) {
  const std::string folder = folder_of(path);
  if (makes_folders) {
    make_folders(folder);
  } else if (::access(folder.c_str(), F_OK) != 0 && errno == ENOENT) {
    refuse(errc::unavailable,
           "the folder " + folder +
               " does not exist, and is not made, since a path that is mistyped would be a store "
               "of its own; correct the URL, or make it: mkdir -p -m 700 " +
               folder);
  }
  check_place(path, anywhere);
}

void make_file(const std::string& path) noexcept { ::mknod(path.c_str(), S_IFREG | S_IRUSR | S_IWUSR, 0); }

std::string problem_of(const std::string& path) {
  const std::string_view text{path};
  const std::string_view name = text.substr(text.rfind('/') + 1);
  const std::string_view first = text.substr(std::min(text.find_first_not_of('/'), text.size()));
  if (name == ":memory:")
    return "here :memory: is the name of a file; write memory: for a store in this process";
  if (first.starts_with("file:"))
    return "it begins with file:, as a URI of SQLite does; write the path of the file";
  if (first.starts_with('~') || first.starts_with('$'))
    return "no shell has put a path in place of its beginning; write the path in full, or ./ before it";
  return {};
}

bool is_mount_point(const std::string& path) {
  struct statx info{};
  return ::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, 0, &info) == 0 &&
         (info.stx_attributes & info.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0;
}

file_identity file_identity::of(const char* path) noexcept {
  struct stat info{};
  if (::lstat(path, &info) != 0) return {};
  return {info.st_dev, info.st_ino};
}

duration boottime_offset_in(const std::string& timens_offsets) {
  std::istringstream lines{timens_offsets};
  std::string clock;
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;
  while (lines >> clock >> seconds >> nanoseconds) {
    // The kernel writes names, and once wrote numbers (CLOCK_BOOTTIME is 7).
    if (clock != "boottime" && clock != "7") continue;
    return std::chrono::duration_cast<duration>(std::chrono::seconds{seconds} +
                                                std::chrono::nanoseconds{nanoseconds});
  }
  return duration::zero();
}

duration boottime_offset() {
  const std::ifstream file{"/proc/self/timens_offsets"};  // absent from kernels without time namespaces
  std::ostringstream text;
  text << file.rdbuf();
  return boottime_offset_in(text.str());
}

}  // namespace holdfast::sqlite
