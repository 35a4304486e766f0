// SPDX-License-Identifier: Apache-2.0
#include "output/text.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <fmt/format.h>
#include <utility>

#include "output/unicode.hpp"
#include <holdfast/client.hpp>

namespace holdfast::cli {

std::string printable(std::string_view foreign) {
  std::string shown;
  while (!foreign.empty()) {
    const auto next = take_character(foreign);
    const auto code = static_cast<unsigned>(next.code);
    if (next.valid && !is_deceptive(next.code)) {
      shown += next.bytes;
    } else if (!next.valid || code < 0x80) {
      shown += fmt::format("\\x{:02x}", code);
    } else {
      shown += fmt::format("\\u{{{:x}}}", code);
    }
  }
  return shown;
}

std::string without_secrets(std::string_view text) {
  constexpr std::string_view blanks = " \t\n";
  std::string masked;
  while (!text.empty()) {
    const auto word_end = std::min(text.find_first_of(blanks), text.size());
    const auto word = text.substr(0, word_end);
    // A store that a sentence goes on about, with a colon, has been masked already.
    const auto store = word.substr(0, word.find_last_not_of(':') + 1);
    const bool is_shown = word.find("://") == word.npos || masked_url(store) == store;
    masked += is_shown ? std::string{word} : masked_url(word);
    const auto next_word = std::min(text.find_first_not_of(blanks, word_end), text.size());
    masked += text.substr(word_end, next_word - word_end);
    text.remove_prefix(next_word);
  }
  return masked;
}

std::size_t columns(std::string_view text) {
  std::size_t sum = 0;
  while (!text.empty()) sum += static_cast<std::size_t>(column_count(take_character(text).code));
  return sum;
}

std::string shortened(std::string_view text, std::size_t width) {
  if (columns(text) <= width) return std::string{text};
  std::string kept;
  for (std::size_t used = 1; !text.empty();) {  // one column is the ellipsis'
    const auto next = take_character(text);
    used += static_cast<std::size_t>(column_count(next.code));
    if (used > width) break;
    kept += next.bytes;
  }
  return kept + "…";
}

std::string to_text(duration length) {
  using namespace std::chrono;
  const auto all = duration_cast<seconds>(std::max(length, duration::zero())).count();
  if (all == 0) return fmt::format("{}ms", duration_cast<milliseconds>(length).count());
  if (all < 60) return fmt::format("{}s", all);
  if (all < 3600) return fmt::format("{}m{:02}s", all / 60, all % 60);
  if (all < 86400) return fmt::format("{}h{:02}m", all / 3600, all / 60 % 60);
  return fmt::format("{}d{:02}h", all / 86400, all / 3600 % 24);
}

std::string to_whole_text(duration length) {
  using namespace std::chrono;
  constexpr std::array parts{std::pair{"d", milliseconds{days{1}}}, std::pair{"h", milliseconds{hours{1}}},
                             std::pair{"m", milliseconds{minutes{1}}}, std::pair{"s", milliseconds{1000}},
                             std::pair{"ms", milliseconds{1}}};
  auto rest = round<milliseconds>(length);
  std::string text;
  for (const auto& [unit, size] : parts) {
    if (rest >= size) text += fmt::format("{}{}", rest / size, unit);
    rest %= size;
  }
  return text.empty() ? "0ms" : text;
}

bool is_of_another_library(const claimant& process) noexcept {
  return process.host.empty() && process.program.empty() && process.pid == 0;
}

bool has_end(const claim_state& claim) noexcept {
  return claim.token || claim.expires_in != duration::zero();
}

std::string to_text(const claimant& process) {
  auto text =
      is_of_another_library(process)
          ? std::string{"a client of another library"}
          : fmt::format("{} on {}, pid {}", process.program.empty() ? "?" : printable(process.program),
                        process.host.empty() ? "?" : printable(process.host), process.pid);
  if (!process.label.empty()) text += fmt::format(" ({})", printable(process.label));
  return text;
}

std::string mode_text(const lock_summary& lock) {
  auto text = std::string{to_string(lock.mode)};
  if (lock.capacity != 0) text += fmt::format(" of {}", lock.capacity);
  return text;
}

std::string mode_text(const claim_state& claim, std::int64_t capacity) {
  if (claim.mode != mode::permits) return std::string{to_string(claim.mode)};
  if (capacity != 0) return fmt::format("{} of {} permits", claim.permits, capacity);
  return fmt::format("{} {}", claim.permits, claim.permits == 1 ? "permit" : "permits");
}

std::string to_text(const server_note& note) { return printable(note.server) + ": " + printable(note.text); }

}  // namespace holdfast::cli
