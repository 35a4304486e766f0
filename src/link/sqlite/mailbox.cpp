#include "link/sqlite/mailbox.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace holdfast::sqlite {

namespace {

constexpr std::size_t letter_size = owner_id::size + sizeof(std::int64_t);
constexpr std::size_t letters_at_most = PIPE_BUF / letter_size;  // in one write, which is then atomic
constexpr std::size_t name_size = 2 * owner_id::size;

void close_if_open(int descriptor) {
  if (descriptor >= 0) ::close(descriptor);
}

/// Opens a FIFO for writing if anybody reads it; -1 with ENXIO if nobody does.
int open_for_letters(int folder, const char* name) {
  return ::openat(folder, name, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
}

/// write(2) without SIGPIPE, which a reader that goes away this very moment would cause.
void write_quietly(int descriptor, const void* bytes, std::size_t size) {
  sigset_t pipe;
  sigset_t before;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, &before);
  if (::write(descriptor, bytes, size) < 0 && errno == EPIPE && sigismember(&before, SIGPIPE) == 0) {
    const timespec at_once{};
    while (sigtimedwait(&pipe, nullptr, &at_once) < 0 && errno == EINTR) {
    }
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

mailbox::mailbox(runtime::loop& on, const std::string& database, on_letters read) : read_{std::move(read)} {
  make(database);
  if (in_ < 0) return;
  listening_ = on.on_readable(in_, [this] { receive(); });
  remove_dead();
}

mailbox::~mailbox() { close(); }

void mailbox::close() noexcept {
  listening_.reset();
  if (in_ >= 0) ::unlinkat(folder_, address_.hex().c_str(), 0);
  close_if_open(std::exchange(in_, -1));
  close_if_open(std::exchange(folder_, -1));
}

/// Whoever may write the database may also write to its clients: the same mode and group.
void mailbox::make(const std::string& database) {
  struct stat info{};
  if (::stat(database.c_str(), &info) != 0) return;
  const mode_t mode = info.st_mode & 0666U;
  const auto give_to_group = [&](int at, const char* path) {
    // Where the group cannot be given, its members still find their turn by looking.
    static_cast<void>(::fchownat(at, path, static_cast<uid_t>(-1), info.st_gid, 0) == 0);
  };
  const std::string path = database + "-wake";
  if (::mkdir(path.c_str(), 0700) == 0) {
    give_to_group(AT_FDCWD, path.c_str());
    ::chmod(path.c_str(), mode | ((mode & 0444U) >> 2U));  // to read is to enter
  }
  folder_ = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_ < 0) return;
  // Under another name until it is read: `remove_dead` of others takes those that are not.
  const std::string name = address_.hex();
  const std::string unread = name + ".new";
  if (::mkfifoat(folder_, unread.c_str(), 0600) != 0) return;
  give_to_group(folder_, unread.c_str());
  ::fchmodat(folder_, unread.c_str(), mode, 0);
  // For reading and writing, so that it never comes to an end.
  in_ = ::openat(folder_, unread.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (in_ < 0 || ::renameat(folder_, unread.c_str(), folder_, name.c_str()) != 0) {
    ::unlinkat(folder_, unread.c_str(), 0);
    close_if_open(std::exchange(in_, -1));
  }
}

void mailbox::send(const owner_id& to, const std::vector<letter>& letters) noexcept {
  if (folder_ < 0) return;
  const std::string name = to.hex();
  const int out = open_for_letters(folder_, name.c_str());
  if (out < 0) {
    if (errno == ENXIO) ::unlinkat(folder_, name.c_str(), 0);
    return;
  }
  for (std::size_t first = 0; first < letters.size(); first += letters_at_most) {
    const std::size_t count = std::min(letters_at_most, letters.size() - first);
    std::array<char, letters_at_most * letter_size> bytes{};
    for (std::size_t i = 0; i < count; ++i) {
      const letter& l = letters[first + i];
      std::memcpy(&bytes[i * letter_size], l.owner.bytes().data(), owner_id::size);
      std::memcpy(&bytes[i * letter_size + owner_id::size], &l.token, sizeof l.token);
    }
    write_quietly(out, bytes.data(), count * letter_size);
  }
  ::close(out);
}

void mailbox::receive() {
  std::array<char, letters_at_most * letter_size> bytes{};
  while (true) {
    const ssize_t got = ::read(in_, bytes.data(), bytes.size());
    if (got <= 0) return;
    std::vector<letter> letters;
    for (std::size_t at = 0; at + letter_size <= static_cast<std::size_t>(got); at += letter_size) {
      std::int64_t token = 0;
      std::memcpy(&token, &bytes[at + owner_id::size], sizeof token);
      letters.push_back({*owner_id::from_bytes({&bytes[at], owner_id::size}), token});
    }
    read_(letters);
  }
}

/// Removes what clients that were killed have left; a bounded number at each opening.
void mailbox::remove_dead() {
  constexpr int at_most = 64;
  const int again = ::fcntl(folder_, F_DUPFD_CLOEXEC, 0);
  DIR* entries = again < 0 ? nullptr : ::fdopendir(again);
  if (entries == nullptr) return close_if_open(again);
  for (int i = 0; i < at_most; ++i) {
    const dirent* entry = ::readdir(entries);
    if (entry == nullptr) break;
    if (std::string_view{entry->d_name}.size() != name_size) continue;
    const int out = open_for_letters(folder_, entry->d_name);
    if (out < 0 && errno == ENXIO) ::unlinkat(folder_, entry->d_name, 0);
    close_if_open(out);
  }
  ::closedir(entries);
}

}  // namespace holdfast::sqlite
