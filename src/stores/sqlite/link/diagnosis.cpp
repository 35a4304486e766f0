#include "stores/sqlite/link/diagnosis.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <tuple>
#include <unistd.h>

#include "holdfast/error.hpp"
#include "stores/sqlite/link/conditions.hpp"
#include "stores/sqlite/link/database.hpp"
#include "stores/sqlite/link/file_reader.hpp"
#include "stores/sqlite/link/fork_guard.hpp"
#include "stores/sqlite/link/place.hpp"

namespace holdfast::sqlite {

namespace {

using doctor::facts;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using status = struct ::stat;

std::optional<status> status_of(const std::string& path) {
  status found{};
  if (::lstat(path.c_str(), &found) != 0) return std::nullopt;
  return found;
}

std::string parent_of(const std::string& path) { return std::filesystem::path{path}.parent_path().string(); }

std::string described(const std::string& path, const status& one) {
  std::array<char, 8> mode{};
  std::snprintf(mode.data(), mode.size(), "%04o", static_cast<unsigned>(one.st_mode & 07777U));
  return path + " has the mode " + mode.data() + ", and belongs to uid " + std::to_string(one.st_uid) +
         ", gid " + std::to_string(one.st_gid);
}

// ---- its content

/// \throws broken.
void read_database(file_reader& from, const std::string& path, const sql::tables& names, facts& to) {
  if (from.number("SELECT count(*) FROM sqlite_master") == 0) return to.set("file", "empty");
  if (from.number("PRAGMA application_id") != application_id)
    throw broken{{{errc::foreign_store, path + " is a database of another program; choose another path"}}};
  to.set("file", "read");
  const std::int64_t layout = from.number("PRAGMA user_version");
  to.set("layout", layout);
  to.set("known_layout", schema_version);
  to.set_flag("newer_layout", layout > schema_version);
  if (layout > schema_version) return;
  const std::int64_t tables = from.number("SELECT count(*) FROM sqlite_master WHERE name IN ('" +
                                          names.locks + "', '" + names.claims + "', '" + names.sweeps + "')");
  to.set_flag("tables", tables == 3);
  if (tables != 3) return;
  to.set("journal", from.is_in_wal_mode() ? "wal" : "a rollback journal");
  const std::chrono::microseconds now =
      std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch());
  const std::int64_t newest = from.number("SELECT max(token) FROM " + names.locks);
  to.set("token_ahead_s", (std::max<std::int64_t>(newest, 0) - now.count()) / 1'000'000);
}

/// The file may be read without locks. If a client comes meanwhile, what is read may be torn, and looks like
/// damage, or like another program's file.
facts read_content(const std::string& path, const sql::tables& names, milliseconds limit) {
  fork_guard::close_inherited();
  const annotated::lock no_fork{fork_guard::reading()};
  const auto change = [&] {
    const auto file = status_of(path).value_or(status{});
    return std::tuple{file.st_ino, file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec};
  };
  const auto before = change();
  facts of;
  failure problem;
  try {
    file_reader from{path, limit};
    read_database(from, path, names, of);
  } catch (const broken& b) {
    problem = b.cause.reason;
  }
  const bool is_unusable = problem.code == errc::corrupt_store || problem.code == errc::foreign_store;
  if (is_unusable && change() == before) throw error{problem.code, problem.message};
  if (problem.message.empty()) return of;
  facts unread;
  unread.set("file", "unread");
  unread.set("read_problem", is_unusable ? "clients come and go; look again" : problem.message);
  return unread;
}

// ---- what is around it

std::string wake_problem_of(const std::string& wake, const status& database, const status& folder) {
  const auto found = status_of(wake);
  if (!found) return {};
  if (S_ISLNK(found->st_mode)) return "is a symbolic link";
  if (!S_ISDIR(found->st_mode)) return "is no folder";
  if (!is_of_a_writer(*found, database, folder))
    return "belongs to a user who may not write the database (uid " + std::to_string(found->st_uid) + ")";
  const bool is_shared = (database.st_mode & S_IWGRP) != 0;
  const bool lets_group_in = found->st_gid == database.st_gid && (found->st_mode & S_IRWXG) == S_IRWXG;
  return is_shared && !lets_group_in ? "cannot be written by the group that may write the database" : "";
}

/// Who may read the file, and not write it, and reaches it.
std::string mere_readers(const std::string& path, const status& file) {
  const auto is_reached_by = [&](mode_t search) {
    for (std::string folder = path; folder != "/";) {
      folder = parent_of(folder);
      const auto found = status_of(folder);
      if (!found || (found->st_mode & search) == 0) return false;
    }
    return true;
  };
  if ((file.st_mode & S_IROTH) != 0 && is_reached_by(S_IXOTH)) return "everybody";
  const bool is_group = (file.st_mode & S_IRGRP) != 0 && (file.st_mode & S_IWGRP) == 0;
  return is_group && is_reached_by(S_IXGRP | S_IXOTH) ? "group" : "";
}

/// Examines the folder of the file, and all above that are there. \return the nearest one to the file.
std::string examine_folders(const std::string& path, const std::optional<status>& file,
                            std::vector<finding>& to) {
  const std::string own = parent_of(path);
  std::string nearest;
  for (std::string folder = own;; folder = parent_of(folder)) {
    if (const auto found = status_of(folder)) {
      if (nearest.empty()) nearest = folder;
      const auto has = [&](mode_t bits) { return (found->st_mode & bits) != 0; };
      facts of{path};
      of.set("path", folder);
      of.set("file", path);
      of.set("user", ::geteuid());
      of.set("gid", found->st_gid);
      of.set("described", described(folder, *found));
      of.set_flag("above", folder != own);
      of.set_flag("stranger", found->st_uid != 0 && found->st_uid != ::geteuid() &&
                                  (!file || found->st_uid != file->st_uid));
      of.set_flag("everybody", has(S_IWOTH));
      of.set_flag("group", has(S_IWGRP));
      of.set_flag("sticky", has(S_ISVTX));
      of.set_flag("group_has_file",
                  !file || ((file->st_mode & S_IWGRP) != 0 && found->st_gid == file->st_gid));
      doctor::examine(conditions::folder_conditions, of, to);
    }
    if (folder == "/") return nearest;
  }
}

void look_at_file(const std::string& path, const status& file, const std::optional<status>& folder,
                  facts& to) {
  to.set("file_mode", described(path, file));
  to.set("file_gid", file.st_gid);
  to.set_flag("file_everybody", (file.st_mode & S_IWOTH) != 0);
  to.set_flag("file_group", (file.st_mode & S_IWGRP) != 0);
  if (!folder) return;
  to.set_flag("folder_group", (folder->st_mode & (S_IWGRP | S_IWOTH)) != 0);
  to.set("readers", mere_readers(path, file));
  to.set("wake_problem", wake_problem_of(path + "-wake", file, *folder));
}

}  // namespace

std::vector<finding> diagnose(const std::string& path, const sql::tables& names, place_options options,
                              milliseconds limit) {
  std::string place_problem;
  try {
    check_place(path, options.accepts_network);
  } catch (const error& e) {
    if (e.code() == errc::foreign_store || e.code() == errc::corrupt_store) throw;
    place_problem = e.detail();
  }
  const auto file = status_of(path);
  const auto wrong = find_wrong_neighbour(path);
  facts of;
  if (file && !wrong) of = read_content(path, names, limit);
  of.subject = path;
  of.set("file", file ? "unread" : "missing");
  of.set("read_problem", "it was not read, because of the files beside it");
  std::vector<finding> of_folders;
  const std::string nearest = examine_folders(path, file, of_folders);
  const auto folder = status_of(parent_of(path));
  of.set("path", path);
  of.set("user", ::geteuid());
  of.set("folder", folder ? "there" : "missing");
  of.set("folder_path", parent_of(path));
  of.set("nearest", nearest);
  struct statfs system{};
  const char* const network =
      ::statfs(nearest.c_str(), &system) == 0 ? network_filesystem(system.f_type) : nullptr;
  if (network != nullptr) of.set("network", network);
  of.set_flag("temporary", path.starts_with("/tmp/") || path.starts_with("/var/tmp/"));
  of.set_flag("proc", ::access("/proc/self", F_OK) == 0);
  if (!folder && !options.makes_folders)
    place_problem = "the folder " + parent_of(path) + " is not there, and is not made";
  of.set("place_problem", place_problem);
  of.set("wake", path + "-wake");
  if (file) look_at_file(path, *file, folder, of);
  if (wrong) {
    of.set("neighbour", wrong->path);
    of.set("neighbour_problem", wrong->problem);
    of.set_flag("neighbour_is_index", wrong->path.ends_with("-shm"));
  }
  std::vector<finding> all;
  doctor::examine(conditions::file_conditions, of, all);
  all.insert(all.end(), of_folders.begin(), of_folders.end());
  return all;
}

}  // namespace holdfast::sqlite
