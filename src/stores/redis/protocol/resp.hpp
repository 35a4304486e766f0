// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::redis {

/// One reply of the server, or one part of it, as far as the difference between RESP3's types matters here.
struct value {
  enum class kind : std::uint8_t {
    null,
    number,
    text,   // simple, bulk and verbatim strings, doubles, big numbers
    error,  // `text` begins with its code: "WRONGTYPE ...", "NOSCRIPT ..."
    list,   // arrays and sets; a map's keys and values in turn
    push,   // not a reply: a message, an invalidation
  };
  kind type = kind::null;
  std::int64_t number = 0;
  std::string text;
  std::vector<value> items;

  [[nodiscard]] bool is(kind k) const { return type == k; }
};

/// Appends the head of a command of so many arguments, its name included; `append_bulk_string` has to follow
/// as often.
void append_command(std::string& out, std::size_t arguments);
void append_bulk_string(std::string& out, std::string_view text, std::string_view more = {});
void append_number(std::string& out, std::int64_t n);
/// A whole command.
void append(std::string& out, std::initializer_list<std::string_view> arguments);

/// Parses RESP3 (and RESP2, as far as servers still send it) from pieces of any size. The
/// server is not trusted: sizes limit the input, and never reserve memory.
class parser {
 public:
  /// Thrown for input that no server sends: the connection cannot be used any more.
  class garbage : public std::runtime_error {
    using runtime_error::runtime_error;
  };

  parser() = default;
  /// \param longest_message in bytes: a longer one is garbage.
  explicit parser(std::size_t longest_message) : longest_message_{longest_message} {}

  void feed(std::string_view bytes);
  /// The next whole message, if it is there. \throws garbage.
  [[nodiscard]] std::optional<value> next();
  /// Whether a message has begun that is not complete.
  [[nodiscard]] bool is_in_message() const { return !open_.empty() || at_ < buffer_.size(); }

 private:
  struct frame {
    value so_far;
    std::size_t missing = 0;
    bool dropped = false;  // an attribute of the next value, which is ignored
  };
  enum class step : std::uint8_t { element, opened, incomplete };

  [[nodiscard]] step read(value& element);
  [[nodiscard]] step read_bulk(value& element, value::kind kind, std::string_view head, std::size_t skip);
  [[nodiscard]] step open(value& element, value::kind kind, std::string_view head, std::size_t factor,
                          bool dropped);
  [[nodiscard]] std::optional<value> close(value element);

  std::size_t longest_message_ = std::numeric_limits<std::size_t>::max();
  std::size_t fed_ = 0;    // bytes
  std::size_t whole_ = 0;  // bytes that whole messages have taken
  std::string buffer_;
  std::size_t at_ = 0;
  std::vector<frame> open_;
};

}  // namespace holdfast::redis
