// SPDX-License-Identifier: Apache-2.0
#include "bench/board.hpp"

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <limits>
#include <linux/futex.h>
#include <new>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

#include "failure.hpp"

namespace holdfast::cli {

// std::atomic's own wait() is for the threads of one process.
void shared_gate::open() noexcept {
  open_ = 1;
  ::syscall(SYS_futex, &open_, FUTEX_WAKE, std::numeric_limits<int>::max(), nullptr, nullptr, 0);
}

void shared_gate::wait() const noexcept {
  while (open_ == 0) ::syscall(SYS_futex, &open_, FUTEX_WAIT, 0, nullptr, nullptr, 0);
}

shared_board::shared_board()
    : memory_{checked(::memfd_create("holdfast-board", MFD_CLOEXEC), "memfd_create")} {
  checked(::ftruncate(memory_.get(), sizeof(handoff_board)), "ftruncate");
  board_ = new (map()) handoff_board;
}

shared_board::shared_board(const std::string& path)
    : memory_{checked(::open(path.c_str(), O_RDWR | O_CLOEXEC), "open")},
      board_{static_cast<handoff_board*>(map())} {}

shared_board::~shared_board() { ::munmap(board_, sizeof(handoff_board)); }

std::string shared_board::path() const { return fmt::format("/proc/{}/fd/{}", ::getpid(), memory_.get()); }

void* shared_board::map() const {
  void* memory = ::mmap(nullptr, sizeof(handoff_board), PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(), 0);
  if (memory == MAP_FAILED) throw std::system_error{errno, std::generic_category(), "mmap"};
  return memory;
}

}  // namespace holdfast::cli
