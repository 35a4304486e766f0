// SPDX-License-Identifier: Apache-2.0
#include "descriptor.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <fcntl.h>
#include <limits>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <system_error>
#include <unistd.h>

#include "failure.hpp"

namespace holdfast::cli {

void descriptor::close() noexcept {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

channel make_channel() {
  std::array<int, 2> ends{};
  checked(::pipe2(ends.data(), O_CLOEXEC), "pipe2");
  return {descriptor{ends[0]}, descriptor{ends[1]}};
}

event::event() : fd_{checked(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")} {}

void event::raise() const noexcept {
  const std::uint64_t one = 1;
  // The only way to fail is a counter that is full, and a full counter is a raised event.
  [[maybe_unused]] const auto written = ::write(fd_.get(), &one, sizeof one);
}

bool event::take() const noexcept {
  std::uint64_t count = 0;
  return ::read(fd_.get(), &count, sizeof count) == sizeof count;
}

alarm_clock::alarm_clock()
    : fd_{checked(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK), "timerfd_create")} {}

void alarm_clock::set(boot_clock::time_point when) const noexcept {
  using namespace std::chrono;
  // A moment of zero would turn the timer off.
  const auto since_boot = std::max(when.time_since_epoch(), boot_clock::duration{1});
  const auto whole = duration_cast<seconds>(since_boot);
  const itimerspec once{.it_interval = {},
                        .it_value = {.tv_sec = whole.count(), .tv_nsec = (since_boot - whole).count()}};
  ::timerfd_settime(fd_.get(), TFD_TIMER_ABSTIME, &once, nullptr);
}

namespace {

std::vector<pollfd> readable(const std::vector<int>& descriptors) {
  std::vector<pollfd> polled;
  for (const int fd : descriptors) polled.push_back({fd, POLLIN, 0});
  return polled;
}

void await(std::vector<pollfd> polled, std::optional<duration> limit) {
  constexpr std::chrono::milliseconds longest{std::numeric_limits<int>::max()};  // some 24 days
  auto left = limit ? std::chrono::ceil<std::chrono::milliseconds>(*limit) : std::chrono::milliseconds{-1};
  int ready = 0;
  do {
    const auto part = std::min(left, longest);
    ready = ::poll(polled.data(), polled.size(), static_cast<int>(part.count()));
    left -= part;
  } while (ready == 0 && left > std::chrono::milliseconds::zero());
  if (ready < 0 && errno != EINTR) throw std::system_error{errno, std::generic_category(), "poll"};
}

}  // namespace

void await_any(const std::vector<int>& descriptors, std::optional<duration> limit) {
  await(readable(descriptors), limit);
}

void await_any_or_hangup(const std::vector<int>& descriptors, int out, std::optional<duration> limit) {
  auto polled = readable(descriptors);
  polled.push_back({out, 0, 0});  // errors and hang-ups are told unasked
  await(std::move(polled), limit);
}

bool is_hung_up(int out) {
  pollfd polled{out, 0, 0};
  return ::poll(&polled, 1, 0) == 1 && (polled.revents & (POLLERR | POLLHUP)) != 0;
}

bool await_room(int out, const std::vector<int>& others) {
  auto polled = readable(others);
  polled.push_back({out, POLLOUT, 0});
  while (::poll(polled.data(), polled.size(), -1) < 0) {
    if (errno != EINTR) throw std::system_error{errno, std::generic_category(), "poll"};
  }
  return std::all_of(polled.begin(), polled.end() - 1, [](const pollfd& each) { return each.revents == 0; });
}

}  // namespace holdfast::cli
