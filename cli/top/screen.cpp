// SPDX-License-Identifier: Apache-2.0
#include "top/screen.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <poll.h>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

#include "failure.hpp"
#include "output/terminal.hpp"

namespace holdfast::cli {

namespace {

constexpr std::string_view enter_alternate = "\x1b[?1049h\x1b[?25l\x1b[2J";
constexpr std::string_view leave_alternate = "\x1b[?25h\x1b[?1049l";

void write_all(std::string_view text) noexcept {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

/// Of the keys that send more than one byte, in both modes of the cursor keys.
constexpr std::array<std::pair<std::string_view, key>, 6> sequences{{{"\x1b[A", key::up},
                                                                     {"\x1bOA", key::up},
                                                                     {"\x1b[B", key::down},
                                                                     {"\x1bOB", key::down},
                                                                     {"\x1b[5~", key::page_up},
                                                                     {"\x1b[6~", key::page_down}}};

/// The length of a sequence that is none of ours, so that its letters are no commands.
std::size_t length_of_sequence(std::string_view bytes) {
  if (bytes.size() < 2 || (bytes[1] != '[' && bytes[1] != 'O')) return 1;
  std::size_t at = 2;
  while (at < bytes.size() && (bytes[at] < '@' || bytes[at] > '~')) ++at;
  return std::min(at + 1, bytes.size());
}

}  // namespace

screen::screen() {
  checked(::tcgetattr(STDIN_FILENO, &before_), "tcgetattr");
  enter();
}

screen::~screen() { leave(); }

void screen::enter() noexcept {
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
  write_all(enter_alternate);
  is_entered_ = true;
}

void screen::leave() noexcept {
  if (!std::exchange(is_entered_, false)) return;
  write_all(leave_alternate);
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
}

screen::extent screen::size() noexcept {
  winsize size{};
  const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
  return known ? extent{size.ws_col, size.ws_row} : extent{};
}

/// Each line is wiped behind its text, and the rest of the screen at the end: nothing flickers.
void screen::draw(const std::vector<std::string>& lines) {
  std::string text = "\x1b[H";
  for (std::size_t i = 0; i < lines.size(); ++i)
    text.append(i == 0 ? "" : "\n").append(lines[i]).append("\x1b[K");
  text.append("\x1b[J");
  std::fwrite(text.data(), 1, text.size(), stdout);
  flush_output();
}

std::vector<key_press> screen::read_keys() {
  constexpr int rest_of_key_ms = 25;  // what follows an escape that a key sends follows at once
  std::string bytes;
  while (true) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (::poll(&input, 1, bytes.empty() ? 0 : rest_of_key_ms) <= 0) return keys_in(bytes);
    std::array<char, 256> piece{};
    const auto got = ::read(STDIN_FILENO, piece.data(), piece.size());
    if (got <= 0) return {{key::end}};
    bytes.append(piece.data(), static_cast<std::size_t>(got));
    if (!ends_within_key(bytes)) return keys_in(bytes);
  }
}

void screen::forget_keys() noexcept { ::tcflush(STDIN_FILENO, TCIFLUSH); }

bool ends_within_key(std::string_view bytes) {
  const std::size_t begin = bytes.rfind('\x1b');
  if (begin == std::string_view::npos) return false;
  const std::string_view last = bytes.substr(begin);
  if (last.size() == 1) return true;
  if (last[1] != '[' && last[1] != 'O') return false;
  return last.size() == 2 || last.back() < '@' || last.back() > '~';
}

std::vector<key_press> keys_in(std::string_view bytes) {
  std::vector<key_press> all;
  while (!bytes.empty()) {
    std::size_t length = 1;
    key_press next;
    if (bytes.front() == '\x1b') {
      next.pressed = key::escape;
      length = length_of_sequence(bytes);
      if (length > 1) next.pressed = key::none;
      for (const auto& [sequence, pressed] : sequences) {
        if (bytes.starts_with(sequence)) next.pressed = pressed;
      }
    } else if (bytes.front() == '\r' || bytes.front() == '\n') {
      next.pressed = key::enter;
    } else if (bytes.front() > ' ' && bytes.front() <= '~') {
      next = {key::letter, bytes.front()};
    }
    bytes.remove_prefix(length);
    if (next.pressed != key::none) all.push_back(next);
  }
  return all;
}

}  // namespace holdfast::cli
