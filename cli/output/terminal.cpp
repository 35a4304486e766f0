// SPDX-License-Identifier: Apache-2.0
#include "output/terminal.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <mutex>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "descriptor.hpp"
#include "failure.hpp"
#include "output/text.hpp"

namespace holdfast::cli {

namespace {

std::string_view environment(const char* name) noexcept {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view{} : value;
}

std::atomic<bool> waits_for_room = true;

/// Whether a write of so much takes place at once, unless another process writes there, too.
bool write_at_once(std::string_view text) noexcept {
  pollfd error_output{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&error_output, 1, 0) != 1 || (error_output.revents & POLLOUT) == 0) return false;
  return ::write(STDERR_FILENO, text.data(), text.size()) >= 0;
}

void write_or_drop(std::string_view text) noexcept {
  static std::mutex one_at_a_time;  // there may be room for one
  static std::size_t dropped = 0;
  const std::lock_guard now{one_at_a_time};
  std::array<char, PIPE_BUF> line{};
  if (dropped != 0) {
    const auto* const form = "holdfast: lines missing here, because nobody read standard error: %zu\n";
    const int length = std::snprintf(line.data(), line.size(), form, dropped);
    if (write_at_once({line.data(), static_cast<std::size_t>(length)})) dropped = 0;
  }
  const auto size = std::min(text.size(), line.size());
  std::copy_n(text.begin(), size, line.begin());
  if (size < text.size()) line.back() = '\n';
  if (dropped != 0 || !write_at_once({line.data(), size})) ++dropped;
}

}  // namespace

bool is_terminal(std::FILE* stream) noexcept { return ::isatty(::fileno(stream)) == 1; }

void occupy_standard_descriptors() noexcept {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest number that is free is this one. Reading and writing fail on it as on a closed one.
    static_cast<void>(::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY));
  }
}

void complain_without_waiting() noexcept { waits_for_room = false; }

void complain(std::string_view text) noexcept {
  if (!waits_for_room) return write_or_drop(text);
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

void flush_output() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  // An earlier write may have failed; its reason is not known any more.
  throw failure{output_failed, fmt::format("cannot write the output{}{}", errno == 0 ? "" : ": ",
                                           errno == 0 ? "" : std::strerror(errno))};
}

void end_without_reader() {
  if (!is_hung_up(STDOUT_FILENO)) return;
  ::raise(SIGPIPE);
  throw failure{output_failed, "cannot write the output: its reader is gone"};
}

std::size_t terminal_width(std::FILE* stream) noexcept {
  winsize size{};
  const bool known = ::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

palette::palette(std::FILE* stream) noexcept
    : on_{stream != nullptr && is_terminal(stream) && environment("NO_COLOR").empty() &&
          environment("TERM") != "dumb"} {}

std::string palette::styled(std::string_view code, std::string_view text) const {
  return on_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string{text};
}

void status_line::show(std::string_view text) {
  if (!on_) return;
  // The last column stays free: a character in it makes some terminals begin a new line. So do those of the
  // ^C that a terminal shows, which would keep the line from being wiped.
  constexpr std::size_t spare = 3;
  complain(fmt::format("\r{}\x1b[K", shortened(text, std::max(terminal_width(stderr), spare + 1) - spare)));
  shown_ = true;
}

void status_line::clear() noexcept {
  if (!shown_) return;
  complain("\r\x1b[K");
  shown_ = false;
}

}  // namespace holdfast::cli
