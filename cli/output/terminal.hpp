#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace holdfast::cli {

[[nodiscard]] bool is_terminal(std::FILE* stream) noexcept;
/// To be called first. Standard streams that are closed become ones that can be neither read nor written: the
/// next file or socket would have their number, a store's say, and would be sent what is meant for them.
void occupy_standard_descriptors() noexcept;
/// Writes to standard error. That it cannot be written (a full disk, a closed descriptor) is no reason to
/// fail: there is nobody left to tell, and the exit status still speaks.
void complain(std::string_view text) noexcept;
/// Ends the writing of one piece of output. \throws failure (output_failed) when it did not get out.
void flush_output();
/// 80 where the terminal does not say.
[[nodiscard]] std::size_t terminal_width(std::FILE* stream) noexcept;

/// Colours for one stream: real ones only on a terminal that has them, unless NO_COLOR is set.
/// (https://no-color.org: present and not empty.)
class palette {
 public:
  explicit palette(std::FILE* stream) noexcept;

  [[nodiscard]] std::string bold(std::string_view text) const { return styled("1", text); }
  [[nodiscard]] std::string dim(std::string_view text) const { return styled("2", text); }
  [[nodiscard]] std::string red(std::string_view text) const { return styled("31", text); }
  [[nodiscard]] std::string green(std::string_view text) const { return styled("32", text); }
  [[nodiscard]] std::string yellow(std::string_view text) const { return styled("33", text); }

 private:
  [[nodiscard]] std::string styled(std::string_view code, std::string_view text) const;

  bool on_;
};

/// One line on standard error that is written over and over and leaves nothing behind. Where standard
/// error is not a terminal, nothing happens.
class status_line {
 public:
  status_line() noexcept : on_{is_terminal(stderr)} {}
  ~status_line() { clear(); }
  status_line(const status_line&) = delete;
  status_line& operator=(const status_line&) = delete;

  [[nodiscard]] bool on() const noexcept { return on_; }
  /// Cut to the terminal's width, so that it stays one line.
  void show(std::string_view text);
  void clear() noexcept;

 private:
  bool on_;
  bool shown_ = false;
};

}  // namespace holdfast::cli
