// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace holdfast::cli {

[[nodiscard]] bool is_terminal(std::FILE* stream) noexcept;
/// To be called first. Replaces closed standard streams by descriptors that can be neither read nor written.
/// Otherwise the next file or socket, such as a store's, would get their number and the output.
void occupy_standard_descriptors() noexcept;
/// Writes to standard error. Ignores write errors (a full disk, a closed descriptor), because the exit status
/// still reports the result.
void complain(std::string_view text) noexcept;
/// From now on complain() drops a text for which standard error has no room: a pipe that nobody reads must
/// not stop a server. A line tells later how many are missing. Texts are cut to 4096 bytes, which a pipe with
/// room takes at once.
void complain_without_waiting() noexcept;
/// Flushes the output. \throws failure (output_failed) if it could not be written.
void flush_output();
/// Ends the process by SIGPIPE, as a write would, if the reader of the output is gone. For a command that may
/// have nothing to write for a long time. \throws failure (output_failed) where SIGPIPE is ignored.
void end_without_reader();
/// 80 if the terminal does not report it.
[[nodiscard]] std::size_t terminal_width(std::FILE* stream) noexcept;

/// Colours for one stream: real ones only on a terminal that has them, unless NO_COLOR is set.
/// (https://no-color.org: present and not empty.)
class palette {
 public:
  /// \param stream null: no colours.
  explicit palette(std::FILE* stream) noexcept;

  [[nodiscard]] std::string bold(std::string_view text) const { return styled("1", text); }
  [[nodiscard]] std::string dim(std::string_view text) const { return styled("2", text); }
  [[nodiscard]] std::string reversed(std::string_view text) const { return styled("7", text); }
  [[nodiscard]] std::string red(std::string_view text) const { return styled("31", text); }
  [[nodiscard]] std::string green(std::string_view text) const { return styled("32", text); }
  [[nodiscard]] std::string yellow(std::string_view text) const { return styled("33", text); }

 private:
  [[nodiscard]] std::string styled(std::string_view code, std::string_view text) const;

  bool on_;
};

/// One line on standard error that is rewritten, and erased at the end. Does nothing if standard error is not
/// a terminal.
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
