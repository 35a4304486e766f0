// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <holdfast/options.hpp>
#include <holdfast/state.hpp>

namespace holdfast::cli {

/// Makes foreign text printable: control characters, characters that are invisible or turn the
/// direction of writing, and bytes that are not UTF-8 appear as \x1b or \u{202e}.
[[nodiscard]] std::string printable(std::string_view foreign);
/// Passwords of all URLs in a text masked: for messages that quote the command line.
[[nodiscard]] std::string without_secrets(std::string_view text);

/// How many columns of a terminal a printable text takes.
[[nodiscard]] std::size_t columns(std::string_view text);
/// The longest prefix of a printable text that fits, with an ellipsis if the text was cut.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t width);

/// Two units at most: `250ms`, `3s`, `2m05s`, `1h04m`, `3d02h`.
[[nodiscard]] std::string to_text(duration length);
/// All units, down to milliseconds, in the format of `parse_duration`: `1s500ms`, `1d1m`. For durations that
/// the user gave.
[[nodiscard]] std::string to_whole_text(duration length);

/// Whether a claim is of another library, of which the process is not known.
[[nodiscard]] bool is_of_another_library(const claimant& process) noexcept;
/// False: it stays until somebody ends it, as a hold that another library has set without a time to live.
[[nodiscard]] bool has_end(const claim_state& claim) noexcept;
/// `backup on alpha, pid 4711 (nightly)`, or `a client of another library (its text)`; printable.
[[nodiscard]] std::string to_text(const claimant& process);
/// `exclusive`, `permits of 4`.
[[nodiscard]] std::string mode_text(const lock_summary& lock);
/// `exclusive`, `1 of 4 permits`, `1 permit`. \param capacity of the lock; zero: it is not said, as by other
/// libraries.
[[nodiscard]] std::string mode_text(const claim_state& claim, std::int64_t capacity);
/// `lock-2:6379: does not answer`, printable.
[[nodiscard]] std::string to_text(const server_note& note);

}  // namespace holdfast::cli
