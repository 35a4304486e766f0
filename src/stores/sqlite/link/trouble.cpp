#include "stores/sqlite/link/trouble.hpp"

#include <cerrno>
#include <cstring>

namespace holdfast::sqlite {

namespace {

struct verdict {
  errc code;
  const char* advice;
  bool passing;
};

verdict verdict_of(int code, int system_error) {
  if (code == SQLITE_CANTOPEN_SYMLINK) {
    return {
        errc::permission_denied,
        "a symbolic link has taken the place of the file or of a folder above it; check who may write there",
        false};
  }
  switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {errc::unavailable, "another process keeps it busy; look for one that holds a transaction open",
              true};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {errc::permission_denied,
              "this user may not write it; check the file, its -wal and -shm, and their folder", false};
    case SQLITE_CANTOPEN:
      if (system_error == EMFILE || system_error == ENFILE) {
        return {errc::exhausted, "out of file descriptors; raise the limit (ulimit -n)", true};
      }
      if (system_error == EACCES || system_error == EPERM || system_error == EROFS) {
        return {errc::permission_denied, "this user may not open it; check the file and its folder", false};
      }
      return {errc::unavailable, "it cannot be opened; check its folder", true};
    case SQLITE_FULL: return {errc::exhausted, "the disk is full; make room on it", true};
    case SQLITE_NOMEM: return {errc::exhausted, "out of memory", true};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return {errc::corrupt_store,
              "it is no SQLite file, or a damaged one; choose another path, or move it away if it was a lock "
              "file",
              false};
    case SQLITE_IOERR: return {errc::unavailable, "reading or writing it failed; check the disk", true};
    default: return {errc::unavailable, "SQLite refused a statement", false};
  }
}

}  // namespace

store::trouble trouble_of(sqlite3* db, int code, const std::string& path) {
  const int system_error = db != nullptr ? sqlite3_system_errno(db) : errno;
  const verdict v = verdict_of(code, system_error);
  std::string message =
      path + ": " + v.advice + " (" + (db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code));
  if (system_error != 0 && (v.code == errc::unavailable || v.code == errc::permission_denied) &&
      (code & 0xFF) != SQLITE_BUSY) {
    message.append("; ").append(std::strerror(system_error));
  }
  return {{v.code, message + ")"}, v.passing, false};
}

}  // namespace holdfast::sqlite
