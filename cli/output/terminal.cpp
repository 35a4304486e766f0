#include "output/terminal.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/core.h>
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

}  // namespace

bool is_terminal(std::FILE* stream) noexcept { return ::isatty(::fileno(stream)) == 1; }

void occupy_standard_descriptors() noexcept {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest number that is free is this one. Reading and writing fail on it as on a closed one.
    static_cast<void>(::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY));
  }
}

void complain(std::string_view text) noexcept {
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
  // The last column stays free: a character in it makes some terminals begin a new line.
  complain(fmt::format("\r{}\x1b[K", shortened(text, terminal_width(stderr) - 1)));
  shown_ = true;
}

void status_line::clear() noexcept {
  if (!shown_) return;
  complain("\r\x1b[K");
  shown_ = false;
}

}  // namespace holdfast::cli
