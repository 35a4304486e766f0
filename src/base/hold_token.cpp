#include "base/hold_token.hpp"

#include <charconv>
#include <cstdint>

namespace holdfast {

namespace {

/// The first member of the object. It occurs nowhere else, because JSON escapes quotes.
constexpr std::string_view mark = "{\"token\":";

}  // namespace

std::string with_hold_token(std::string_view metadata, fencing_token token) {
  if (!metadata.starts_with('{')) return std::string{metadata};
  std::string_view rest = metadata.substr(1);
  if (metadata.starts_with(mark)) {
    const std::size_t end = metadata.find_first_of(",}");
    if (end == std::string_view::npos) return std::string{metadata};
    rest = metadata.substr(metadata[end] == ',' ? end + 1 : end);
  }
  const std::string number = std::to_string(token.value());
  return std::string{mark}.append(number).append(rest.starts_with('}') ? "" : ",").append(rest);
}

fencing_token hold_token_in(std::string_view metadata) {
  if (!metadata.starts_with(mark)) return {};
  const std::string_view number = metadata.substr(mark.size());
  std::uint64_t token = 0;
  const auto [end, problem] = std::from_chars(number.data(), number.data() + number.size(), token);
  const bool is_whole = end != number.data() + number.size() && (*end == ',' || *end == '}');
  return problem == std::errc{} && is_whole ? fencing_token{token} : fencing_token{};
}

}  // namespace holdfast
