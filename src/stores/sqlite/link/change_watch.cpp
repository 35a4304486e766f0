#include "stores/sqlite/link/change_watch.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace holdfast::sqlite {

namespace {

constexpr std::chrono::seconds backstop{1};

std::pair<long, long> look_of(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return {};
  return {info.st_size, info.st_mtim.tv_sec * 1'000'000'000L + info.st_mtim.tv_nsec};
}

}  // namespace

change_watch::change_watch(runtime::event_loop& on, const std::string& database,
                           std::function<void()> changed)
    : loop_{on}, wal_{database + "-wal"}, changed_{std::move(changed)} {
  const std::filesystem::path path{database};
  file_ = path.filename().string();
  const std::string folder = path.has_parent_path() ? path.parent_path().string() : ".";
  inotify_ = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (inotify_ >= 0 &&
      ::inotify_add_watch(inotify_, folder.c_str(), IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_DELETE) >= 0) {
    listening_ = on.on_readable(inotify_, [this] { receive(); });
  }
  look_again();
}

change_watch::~change_watch() {
  *alive_ = false;
  listening_.reset();
  if (inotify_ >= 0) ::close(inotify_);
}

void change_watch::receive() {
  alignas(inotify_event) std::array<char, 16384> events{};
  bool is_of_database = false;
  for (ssize_t got = 0; (got = ::read(inotify_, events.data(), events.size())) > 0;) {
    for (std::size_t at = 0; at < static_cast<std::size_t>(got);) {
      inotify_event e{};
      std::memcpy(&e, &events[at], sizeof e);
      const std::string_view name = e.len == 0 ? std::string_view{} : &events[at + sizeof e];
      // The file itself and its -wal; not its -wake folder, nor what else lives there.
      is_of_database = is_of_database || name == file_ || (name.starts_with(file_) && name.ends_with("-wal"));
      at += sizeof e + e.len;
    }
  }
  if (is_of_database) changed_();
}

void change_watch::look_again() {
  loop_.at(loop_.now() + backstop, [this, alive = alive_] {
    if (!*alive) return;
    const auto look = look_of(wal_);
    if (std::exchange(seen_, look) != look)
      loop_.defer([this, alive] {
        if (*alive) changed_();
      });
    look_again();
  });
}

}  // namespace holdfast::sqlite
