// SPDX-License-Identifier: Apache-2.0
// Loaded into another process before its C library: notes in the file that HOLDFAST_TEST_DISK_JOURNAL names,
// a line each, the calls that write files beside that file, or make them durable: "write FILE", "fdatasync
// FILE". The call that HOLDFAST_TEST_DISK_FAILS names fails, with EIO, and is not carried out.

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string path_of(int fd) {
  std::array<char, 4096> path{};
  const ssize_t length =
      ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path.data(), path.size() - 1);
  return length < 0 ? "" : path.data();
}

/// \return whether the call is to fail.
bool note(std::string_view call, const std::string& path) {
  const std::string journal = variable("HOLDFAST_TEST_DISK_JOURNAL");
  const std::string folder = journal.substr(0, journal.rfind('/'));
  if (journal.empty() || (path != folder && !path.starts_with(folder + '/'))) return false;
  const std::string name = path == folder ? "." : path.substr(folder.size() + 1);
  const std::string line = std::string{call} + ' ' + name + '\n';
  const int fd = ::open(journal.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  ::syscall(SYS_write, fd, line.data(), line.size());
  ::close(fd);
  const bool fails = variable("HOLDFAST_TEST_DISK_FAILS") + '\n' == line;
  if (fails) errno = EIO;
  return fails;
}

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are the C library's.
extern "C" __attribute__((visibility("default"))) ssize_t write(int fd, const void* bytes, size_t count) {
  static auto* const function = real<ssize_t(int, const void*, size_t)>("write");
  return note("write", path_of(fd)) ? -1 : function(fd, bytes, count);
}

extern "C" __attribute__((visibility("default"))) int fsync(int fd) {
  static auto* const function = real<int(int)>("fsync");
  return note("fsync", path_of(fd)) ? -1 : function(fd);
}

extern "C" __attribute__((visibility("default"))) int fdatasync(int fd) {
  static auto* const function = real<int(int)>("fdatasync");
  return note("fdatasync", path_of(fd)) ? -1 : function(fd);
}

extern "C" __attribute__((visibility("default"))) int renameat(int old_folder, const char* old_name,
                                                               int new_folder,
                                                               const char* new_name) noexcept {
  static auto* const function = real<int(int, const char*, int, const char*)>("renameat");
  return note("rename", path_of(old_folder) + '/' + old_name)
             ? -1
             : function(old_folder, old_name, new_folder, new_name);
}
// NOLINTEND(readability-identifier-naming)
