#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <termios.h>
#include <vector>

namespace holdfast::cli {

/// What somebody has typed.
enum class key : std::uint8_t { none, up, down, page_up, page_down, enter, escape, letter };
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
  /// What has been typed since, without waiting. \throws failure at the end of the input.
  [[nodiscard]] static std::vector<key_press> read_keys();

 private:
  termios before_{};
  bool is_entered_ = false;
};

/// The keys in what a terminal sends.
[[nodiscard]] std::vector<key_press> keys_in(std::string_view bytes);

}  // namespace holdfast::cli
