// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstring>

#include "stores/sqlite/link/database.hpp"

namespace holdfast::sqlite {

namespace {

struct verdict {
  errc code;
  const char* advice;
  bool retryable;
};

verdict verdict_of(int code, int system_error) {
  if (code == SQLITE_CANTOPEN_SYMLINK) {
    return {errc::permission_denied,
            "a symbolic link has replaced the file or a folder above it; check who may write there", false};
  }
  switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {
          errc::unavailable,
          "another process keeps the file locked; look for a process with an open transaction (fuser FILE)",
          true};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {errc::permission_denied,
              "this user may not write the file; check the permissions of the file, of its -wal and -shm, "
              "and of their folder",
              false};
    case SQLITE_CANTOPEN:
      if (system_error == EMFILE || system_error == ENFILE) {
        return {errc::exhausted, "out of file descriptors; raise the limit (ulimit -n)", true};
      }
      if (system_error == EACCES || system_error == EPERM || system_error == EROFS) {
        return {errc::permission_denied,
                "this user may not open the file; check the permissions of the file and its folder", false};
      }
      return {errc::unavailable, "the file cannot be opened; check that its folder exists", true};
    case SQLITE_FULL: return {errc::exhausted, "the disk is full; free space on it", true};
    case SQLITE_NOMEM: return {errc::exhausted, "out of memory", true};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return {errc::corrupt_store,
              "the file is no SQLite database, or is damaged; choose another path, or move the file away if "
              "it was a lock file",
              false};
    case SQLITE_IOERR: return {errc::unavailable, "reading or writing the file failed; check the disk", true};
    default: return {errc::unavailable, "SQLite refused a statement", false};
  }
}

}  // namespace

store::request_error request_error_of(sqlite3* db, int code, const std::string& path) {
  const int system_error = db != nullptr ? sqlite3_system_errno(db) : errno;
  const verdict v = verdict_of(code, system_error);
  std::string message =
      path + ": " + v.advice + " (" + (db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code));
  if (system_error != 0 && (v.code == errc::unavailable || v.code == errc::permission_denied) &&
      (code & 0xFF) != SQLITE_BUSY) {
    message.append("; ").append(std::strerror(system_error));
  }
  return {{v.code, message + ")"}, v.retryable, false};
}

}  // namespace holdfast::sqlite
