#include "stores/sqlite/link/diagnosis.hpp"

#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "holdfast/error.hpp"
#include "stores/sqlite/link/database.hpp"
#include "stores/sqlite/link/file_facts.hpp"
#include "stores/sqlite/link/file_reader.hpp"
#include "stores/sqlite/link/fork_guard.hpp"
#include "stores/sqlite/link/place.hpp"

namespace holdfast::sqlite {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

bool exists(const std::string& path) {
  struct stat info{};
  return ::lstat(path.c_str(), &info) == 0;
}

std::int64_t wall_clock_us() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

/// The newest token; 0 without any. None: damage or another client keeps it from being read.
std::optional<std::int64_t> newest_token_in(file_reader& from, const sql::tables& names) {
  try {
    return from.number("SELECT max(token) FROM " + names.locks);
  } catch (const broken&) {  // the check of the file's integrity says why
    return std::nullopt;
  }
}

/// None: the file is empty. \throws broken, holdfast::error.
std::optional<file_facts::content> content_of(file_reader& from, const std::string& path,
                                              const sql::tables& names) {
  if (from.required_number("SELECT count(*) FROM sqlite_master") == 0) return std::nullopt;
  if (from.required_number("PRAGMA application_id") != application_id)
    throw error{errc::foreign_store, path + " is a database of another program; choose another path"};
  file_facts::content found;
  found.known_layout = schema_version;
  found.layout = from.required_number("PRAGMA user_version");
  if (found.layout > schema_version) return found;
  const auto has = [&](const std::string& table) {
    return from.required_number("SELECT count(*) FROM sqlite_master WHERE name = '" + table + "'") > 0;
  };
  found.has_tables = has(names.locks) && has(names.claims) && has(names.sweeps);
  if (!found.has_tables) return found;
  found.journal_mode = from.journal_mode();
  found.pages_in_wal = from.pages_in_wal();
  found.newest_token =
      newest_token_in(from, names);  // before the check of integrity, which may take all time
  found.wall_clock_us = wall_clock_us();
  found.damage = from.text("PRAGMA quick_check(1)");
  return found;
}

bool is_damaged(const std::optional<file_facts::content>& found) {
  return found && found->damage && *found->damage != "ok";
}

/// What looks like damage, or like another program's file, may be a file that was half written. It counts
/// only where nobody has written the file meanwhile.
void read_content(file_facts& facts, const sql::tables& names, milliseconds limit) {
  if (facts.wrong) {
    facts.read_problem = "it was not read, because of the files beside it";
    return;
  }
  fork_guard::close_inherited();
  const annotated::lock no_fork{fork_guard::reading()};
  const auto until = steady_clock::now() + limit;
  constexpr int tries = 3;
  for (int done = 0; done < tries; ++done) {
    const file_state before = file_state::of(facts.path);
    std::optional<file_reader> from;
    const auto has_changed = [&] {
      return file_state::of(facts.path) != before || (from && from->has_changed());
    };
    try {
      from.emplace(facts.path, until);
      facts.database = content_of(*from, facts.path, names);
      const bool is_doubtful = from->is_without_locks() || is_damaged(facts.database);
      if (!is_doubtful || !has_changed()) return;
    } catch (const broken& b) {
      if (!has_changed()) {
        if (b.cause.reason.code == errc::corrupt_store)
          throw error{b.cause.reason.code, b.cause.reason.message};
        facts.read_problem = b.cause.reason.message;
        return;
      }
    } catch (const error&) {
      if (!has_changed()) throw;
    }
  }
  facts.database.reset();
  facts.read_problem = "clients come and go; look again";
}

std::string folder_of(const std::string& path) { return std::filesystem::path{path}.parent_path().string(); }

/// The same permissions, and to search it where the file can be read.
bool fits(const struct stat& folder, const struct stat& database) {
  const mode_t group = S_IRWXG;
  const bool group_writes = (database.st_mode & S_IWGRP) != 0;
  return !group_writes || (folder.st_gid == database.st_gid && (folder.st_mode & group) == group);
}

std::string wake_problem_of(const std::string& path) {
  const std::string wake = path + "-wake";
  struct stat info{};
  struct stat database{};
  struct stat folder{};
  if (::lstat(wake.c_str(), &info) != 0 || ::lstat(path.c_str(), &database) != 0) return {};
  if (::stat(folder_of(path).c_str(), &folder) != 0) return {};
  if (S_ISLNK(info.st_mode)) return wake + " is a symbolic link";
  if (!S_ISDIR(info.st_mode)) return wake + " is no folder";
  if (!is_of_a_writer(info, database, folder)) {
    return wake + " belongs to a user who may not write the database (uid " + std::to_string(info.st_uid) +
           ")";
  }
  if (!fits(info, database)) return wake + " cannot be written by the group that may write the database";
  return {};
}

std::string access_problem_of(const file_facts& facts) {
  const auto lacks = [](const std::string& path, int rights) { return ::access(path.c_str(), rights) != 0; };
  if (!facts.folder && !facts.makes_folders)
    return "the folder " + facts.wanted_folder + " is not there, and is not made";
  if (!facts.folder && lacks(facts.nearest_folder, W_OK | X_OK)) {
    return "the folder " + facts.wanted_folder + " is not there, and this user may not make it in " +
           facts.nearest_folder + ": " + std::strerror(errno);
  }
  if (facts.folder && lacks(facts.nearest_folder, R_OK | W_OK | X_OK))
    return "the folder " + facts.nearest_folder + " cannot be written by this user: " + std::strerror(errno);
  if (facts.file && lacks(facts.path, R_OK | W_OK))
    return "the file cannot be read and written by this user: " + std::string{std::strerror(errno)};
  return {};
}

void look_at_folders(file_facts& facts) {
  const std::string folder = folder_of(facts.path);
  facts.folder = file_facts::entry::of(folder);
  facts.wanted_folder = folder;
  facts.nearest_folder = folder;
  while (!exists(facts.nearest_folder) && facts.nearest_folder != "/")
    facts.nearest_folder = folder_of(facts.nearest_folder);
  for (std::string above = folder; above != "/";) {
    above = folder_of(above);
    const auto entry = file_facts::entry::of(above);
    if (entry) facts.above.push_back(*entry);
  }
  facts.mount_point = facts.nearest_folder;
  while (!is_mount_point(facts.mount_point) && facts.mount_point != "/")
    facts.mount_point = folder_of(facts.mount_point);
  struct statfs system{};
  if (::statfs(facts.nearest_folder.c_str(), &system) == 0) facts.network = network_filesystem(system.f_type);
  struct statvfs room{};
  if (::statvfs(facts.nearest_folder.c_str(), &room) == 0) {
    facts.free_bytes = static_cast<std::uint64_t>(room.f_bavail) * room.f_frsize;
    facts.free_inodes = room.f_favail;
    facts.counts_inodes = room.f_files != 0;
  }
}

}  // namespace

std::vector<finding> diagnose(const std::string& path, const sql::tables& names, place_options options,
                              milliseconds limit) {
  try {
    check_place(path, true);
  } catch (const error& e) {  // others are findings
    if (e.code() == errc::foreign_store || e.code() == errc::corrupt_store) throw;
  }
  file_facts facts;
  facts.path = path;
  facts.user = ::geteuid();
  facts.accepts_network = options.accepts_network;
  facts.makes_folders = options.makes_folders;
  facts.file = file_facts::entry::of(path);
  look_at_folders(facts);
  facts.is_mounted_alone = is_mount_point(path);
  facts.has_proc = ::access("/proc/self", F_OK) == 0;
  facts.access_problem = access_problem_of(facts);
  facts.wake_problem = wake_problem_of(path);
  facts.wrong = find_wrong_neighbour(path);
  struct stat wal{};
  if (::lstat((path + "-wal").c_str(), &wal) == 0) facts.wal_bytes = static_cast<std::uint64_t>(wal.st_size);
  if (facts.file) read_content(facts, names, limit);
  return findings_of(facts);
}

}  // namespace holdfast::sqlite
