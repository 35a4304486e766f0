// SPDX-License-Identifier: Apache-2.0
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
constexpr int blocks_at_once = 16;  // as in mailbox.cpp

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
  look_again();
  inotify_ = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (inotify_ < 0) return;
  if (::inotify_add_watch(inotify_, folder.c_str(), IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_DELETE) < 0)
    return;
  try {
    listening_ = on.on_readable(inotify_, [this] { receive(); });
  } catch (...) {  // the loop cannot listen to it; the destructor does not run
    loop_.cancel(next_look_);
    ::close(inotify_);
    throw;
  }
}

change_watch::~change_watch() {
  listening_.reset();  // without the core lock, for which receive() may be waiting
  {
    const runtime::core_lock now{loop_, true};
    loop_.cancel(next_look_);
  }
  if (inotify_ >= 0) ::close(inotify_);
}

void change_watch::receive() {
  alignas(inotify_event) std::array<char, 16384> events{};
  bool is_of_database = false;
  // What is left wakes the loop again, after the timers that are due.
  for (int block = 0; block < blocks_at_once; ++block) {
    const ssize_t got = ::read(inotify_, events.data(), events.size());
    if (got <= 0) break;
    for (std::size_t at = 0; at < static_cast<std::size_t>(got);) {
      inotify_event e{};
      std::memcpy(&e, &events[at], sizeof e);
      const std::string_view name = e.len == 0 ? std::string_view{} : &events[at + sizeof e];
      // The file itself and its -wal; not its -wake folder, nor what else lives there.
      is_of_database = is_of_database || name == file_ || (name.starts_with(file_) && name.ends_with("-wal"));
      at += sizeof e + e.len;
    }
  }
  if (!is_of_database) return;
  const runtime::core_lock now{loop_};
  changed_();
}

void change_watch::look_again() {
  next_look_ = loop_.at(loop_.now() + backstop, [this] {
    const auto look = look_of(wal_);
    if (std::exchange(seen_, look) != look) changed_();
    look_again();
  });
}

}  // namespace holdfast::sqlite
