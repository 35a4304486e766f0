// SPDX-License-Identifier: Apache-2.0
#include "runtime/wakeup_fd.hpp"

#include <cstdint>
#include <sys/eventfd.h>
#include <unistd.h>

#include "holdfast/error.hpp"

namespace holdfast::runtime {

wakeup_fd::wakeup_fd() : fd_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {
  if (fd_ < 0)
    throw error{errc::exhausted, "cannot create an eventfd; raise the limit of open files (ulimit -n)"};
}

wakeup_fd::~wakeup_fd() { ::close(fd_); }

void wakeup_fd::ring() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(fd_, &one, sizeof one);  // full is rung, too
}

void wakeup_fd::drain() const {
  std::uint64_t rings = 0;
  [[maybe_unused]] const auto n = ::read(fd_, &rings, sizeof rings);
}

}  // namespace holdfast::runtime
