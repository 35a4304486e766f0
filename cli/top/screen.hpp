// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <termios.h>
#include <vector>

namespace holdfast::cli {

/// What somebody has typed.
enum class key : std::uint8_t { none, up, down, page_up, page_down, enter, escape, letter, end };
struct key_press {
  key pressed = key::none;
  char letter = 0;  ///< of key::letter
};

/// The whole terminal: the alternate screen, without echo, keys as they are typed. Ctrl-C and Ctrl-Z stay
/// signals. Both ends of the terminal are standard input and output.
class screen {
 public:
  screen();
  /// Leaves the terminal as it was.
  ~screen();
  screen(const screen&) = delete;
  screen& operator=(const screen&) = delete;

  /// For the time of a stop of this process.
  void leave() noexcept;
  void enter() noexcept;

  struct extent {
    std::size_t width = 80;
    std::size_t height = 24;
  };
  /// 80 x 24 if the terminal does not report it.
  [[nodiscard]] static extent size() noexcept;
  /// Replaces all that is shown. Lines are not wider than the screen. \throws failure (output_failed).
  static void draw(const std::vector<std::string>& lines);
  /// What has been typed since, without waiting, but for the rest of a key that has come in part. key::end:
  /// the terminal is gone.
  [[nodiscard]] static std::vector<key_press> read_keys();
  /// Drops what has been typed and not read.
  static void forget_keys() noexcept;

 private:
  termios before_{};
  bool is_entered_ = false;
};

/// Whether the last key in it is not complete.
[[nodiscard]] bool ends_within_key(std::string_view bytes);
/// The keys in what a terminal sends.
[[nodiscard]] std::vector<key_press> keys_in(std::string_view bytes);

}  // namespace holdfast::cli
