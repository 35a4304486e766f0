#include "terminal.hpp"

#include <cstdlib>
#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "text.hpp"

namespace holdfast::cli {

namespace {

std::string_view environment(const char* name) noexcept {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view{} : value;
}

}  // namespace

bool is_terminal(std::FILE* stream) noexcept { return ::isatty(::fileno(stream)) == 1; }

std::size_t terminal_width(std::FILE* stream) noexcept {
  winsize size{};
  const bool known = ::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

palette::palette(std::FILE* stream) noexcept
    : on_{is_terminal(stream) && environment("NO_COLOR").empty() && environment("TERM") != "dumb"} {}

std::string palette::styled(std::string_view code, std::string_view text) const {
  return on_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string{text};
}

void status_line::show(std::string_view text) {
  if (!on_) return;
  // The last column stays free: a character in it makes some terminals begin a new line.
  fmt::print(stderr, "\r{}\x1b[K", shortened(text, terminal_width(stderr) - 1));
  std::fflush(stderr);
  shown_ = true;
}

void status_line::clear() noexcept {
  if (!shown_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace holdfast::cli
