// SPDX-License-Identifier: Apache-2.0
#include "stores/zookeeper/protocol/note.hpp"

#include <array>
#include <charconv>
#include <string>

#include "base/metadata.hpp"

namespace holdfast::zookeeper {

namespace {
constexpr std::string_view signature = "holdfast 1 ";
}

std::string to_text(const note& n) {
  return std::string{signature} + std::to_string(n.permits) + ' ' + std::to_string(n.capacity) + ' ' +
         std::to_string(n.ttl.count()) + ' ' + std::to_string(n.token.value()) + '\n' + n.metadata;
}

std::string_view before_note(std::string_view text) {
  // The last one: the value before it may be any bytes, and the metadata after it has no line feeds.
  const auto line_before = text.rfind(std::string{'\n'}.append(signature));
  return text.substr(0, line_before == std::string_view::npos ? 0 : line_before + 1);
}

std::optional<note> read_note(std::string_view text) {
  text.remove_prefix(before_note(text).size());
  if (!text.starts_with(signature)) return std::nullopt;
  const auto line_end = text.find('\n');
  if (line_end == std::string_view::npos) return std::nullopt;
  std::string_view line = text.substr(signature.size(), line_end - signature.size());
  std::array<std::int64_t, 4> numbers{};
  for (std::int64_t& number : numbers) {
    const auto [end, problem] = std::from_chars(line.data(), line.data() + line.size(), number);
    if (problem != std::errc{} || number < 0) return std::nullopt;
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
    if (!line.empty() && line.front() == ' ') line.remove_prefix(1);
  }
  if (!line.empty()) return std::nullopt;
  return note{numbers[0], numbers[1], duration{numbers[2]},
              fencing_token{static_cast<std::uint64_t>(numbers[3])}, std::string{text.substr(line_end + 1)}};
}

std::optional<std::string> request_in(std::string_view data) {
  if (data == revoke_message) return std::string{};
  const auto n = read_note(data);
  return n ? from_metadata(n->metadata).release_request : std::nullopt;
}

}  // namespace holdfast::zookeeper
