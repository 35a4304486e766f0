// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/protocol/resp.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace holdfast::redis {

namespace {

constexpr std::size_t longest_line = std::size_t{64} * 1024;
constexpr std::int64_t longest_text = 512LL * 1024 * 1024;  // the limit of a server
constexpr std::int64_t most_elements = 1LL << 32U;
constexpr std::size_t deepest = 16;

constexpr std::size_t longest_head = 24;

/// \param to with room for the longest. \return its end.
char* write_head(char* to, char type, std::size_t n) {
  *to++ = type;
  to = std::to_chars(to, to + longest_head - 3, n).ptr;
  *to++ = '\r';
  *to++ = '\n';
  return to;
}

std::int64_t number_in(std::string_view text) {
  std::int64_t n = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (problem != std::errc{} || end != text.data() + text.size() || text.empty()) {
    throw parser::garbage{"a number was expected"};
  }
  return n;
}

}  // namespace

void append_command(std::string& out, std::size_t arguments) {
  std::array<char, longest_head> head{};
  out.append(head.data(), write_head(head.data(), '*', arguments));
}

/// Grows once: a request is a dozen short strings.
void append_bulk_string(std::string& out, std::string_view text, std::string_view more) {
  const std::size_t begin = out.size();
  const std::size_t size = text.size() + more.size();
  out.resize(begin + longest_head + size + 2);
  char* to = write_head(out.data() + begin, '$', size);
  to = std::copy(text.begin(), text.end(), to);
  to = std::copy(more.begin(), more.end(), to);
  *to++ = '\r';
  *to++ = '\n';
  out.resize(static_cast<std::size_t>(to - out.data()));
}

void append_number(std::string& out, std::int64_t n) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), n).ptr;
  append_bulk_string(out, {digits.data(), static_cast<std::size_t>(end - digits.data())});
}

void append(std::string& out, std::initializer_list<std::string_view> arguments) {
  append_command(out, arguments.size());
  for (const std::string_view argument : arguments) append_bulk_string(out, argument);
}

void parser::feed(std::string_view bytes) {
  if (at_ == buffer_.size()) {
    buffer_.clear();
    at_ = 0;
  } else if (at_ > longest_line) {
    buffer_.erase(0, at_);
    at_ = 0;
  }
  buffer_ += bytes;
  fed_ += bytes.size();
}

std::optional<value> parser::next() {
  while (true) {
    value element;
    switch (read(element)) {
      case step::incomplete:
        if (fed_ - whole_ > longest_message_) throw garbage{"a message that is too long"};
        return std::nullopt;
      case step::opened: break;
      case step::element:
        if (auto whole = close(std::move(element))) {
          whole_ = fed_ - (buffer_.size() - at_);
          return whole;
        }
        break;
    }
  }
}

parser::step parser::read(value& element) {
  const std::size_t end = buffer_.find("\r\n", at_);
  if (end == std::string::npos) {
    if (buffer_.size() - at_ > longest_line) throw garbage{"a line without end"};
    return step::incomplete;
  }
  if (end == at_) throw garbage{"an empty line"};
  const char type = buffer_[at_];
  const std::string_view head{buffer_.data() + at_ + 1, end - at_ - 1};
  switch (type) {
    case '$': return read_bulk(element, value::kind::text, head, 0);
    case '!': return read_bulk(element, value::kind::error, head, 0);
    case '=': return read_bulk(element, value::kind::text, head, 4);  // "txt:"
    case '*':
    case '~': return open(element, value::kind::list, head, 1, false);
    case '%': return open(element, value::kind::list, head, 2, false);
    case '>': return open(element, value::kind::push, head, 1, false);
    case '|': return open(element, value::kind::list, head, 2, true);
    case '+':
    case ',':
    case '(':
      element.type = value::kind::text;
      element.text = head;
      break;
    case '-':
      element.type = value::kind::error;
      element.text = head;
      break;
    case ':':
      element.type = value::kind::number;
      element.number = number_in(head);
      break;
    case '#':
      if (head != "t" && head != "f") throw garbage{"a truth value was expected"};
      element.type = value::kind::number;
      element.number = head == "t" ? 1 : 0;
      break;
    case '_': break;
    default: throw garbage{"no type of RESP3 begins like this"};
  }
  at_ = end + 2;
  return step::element;
}

parser::step parser::read_bulk(value& element, value::kind kind, std::string_view head, std::size_t skip) {
  const std::size_t begin = static_cast<std::size_t>(head.data() - buffer_.data()) + head.size() + 2;
  const std::int64_t size = number_in(head);
  if (size == -1) {
    at_ = begin;
    return step::element;
  }
  if (size < 0 || size > longest_text) throw garbage{"a text of impossible length"};
  const auto length = static_cast<std::size_t>(size);
  if (buffer_.size() - begin < length + 2) return step::incomplete;
  if (buffer_.compare(begin + length, 2, "\r\n") != 0)
    throw garbage{"a text that does not end where it should"};
  if (length < skip) throw garbage{"a verbatim text without its format"};
  element.type = kind;
  element.text.assign(buffer_, begin + skip, length - skip);
  at_ = begin + length + 2;
  return step::element;
}

parser::step parser::open(value& element, value::kind kind, std::string_view head, std::size_t factor,
                          bool dropped) {
  const std::int64_t size = number_in(head);
  if (size < -1 || size > most_elements) throw garbage{"a list of impossible length"};
  if (open_.size() == deepest) throw garbage{"lists in lists, too deep"};
  at_ = static_cast<std::size_t>(head.data() - buffer_.data()) + head.size() + 2;
  if (size > 0) {
    open_.push_back({{kind, 0, {}, {}}, static_cast<std::size_t>(size) * factor, dropped});
    return step::opened;
  }
  if (dropped) return step::opened;
  element.type = size == -1 ? value::kind::null : kind;
  return step::element;
}

/// Adds an element to its list; returns the message when the element completes it.
std::optional<value> parser::close(value element) {
  while (!open_.empty()) {
    frame& last = open_.back();
    last.so_far.items.push_back(std::move(element));
    if (--last.missing != 0) return std::nullopt;
    const bool dropped = last.dropped;
    element = std::move(last.so_far);
    open_.pop_back();
    if (dropped) return std::nullopt;
  }
  return element;
}

}  // namespace holdfast::redis
