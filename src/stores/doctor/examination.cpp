// SPDX-License-Identifier: Apache-2.0
#include "stores/doctor/examination.hpp"

#include <algorithm>
#include <charconv>

#include "base/shell_word.hpp"

namespace holdfast::doctor {

namespace {

constexpr std::size_t longest_text = 4096;
constexpr std::int64_t largest_number = 1'000'000'000'000'000;

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string length_of(std::int64_t ms) {
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

/// One comparison of `when`.
bool holds(std::string_view comparison, const facts& of) {
  if (comparison.starts_with('!')) return of.text(comparison.substr(1)).empty();
  const std::size_t at = comparison.find_first_of("!=<>");
  if (at == std::string_view::npos) return !of.text(comparison).empty();
  const std::string_view name = comparison.substr(0, at);
  std::string_view value = comparison.substr(at + 1);
  if (!of.has(name)) return false;
  if (comparison[at] == '=') return of.text(name) == value;
  if (comparison[at] == '!') return of.text(name) != value.substr(1);
  const bool is_less = comparison[at] == '<';
  if (!is_less) value.remove_prefix(1);
  if (!is_number(value) && !of.has(value)) return false;
  const std::int64_t limit = is_number(value) ? number_in(value) : of.number(value);
  return is_less == (of.number(name) < limit);
}

bool applies(std::string_view when, const facts& of) {
  while (!when.empty()) {
    const std::string_view each = when.substr(0, when.find(' '));
    when.remove_prefix(std::min(when.size(), each.size() + 1));
    if (!holds(each, of)) return false;
  }
  return true;
}

/// What stands in a sentence for a place.
std::string text_for(std::string_view place, const facts& of) {
  if (place.starts_with('\'')) return word_for_shell(of.text(place.substr(1, place.size() - 2)));
  const std::size_t colon = place.find(':');
  const std::string_view name = place.substr(0, colon);
  if (colon == std::string_view::npos) return of.text(name);
  const std::string_view unit = place.substr(colon + 1);
  const std::int64_t number = of.number(name);
  if (unit == "ms") return length_of(number);
  return std::to_string(number).append(" ").append(unit).append(number == 1 ? "" : "s");
}

constexpr condition clock_rows[]{
    {"clock", grade::unknown, "!clock_distance", "it does not say the time", "this was not examined",
     "look at the server by hand"},
    {"clock", grade::kept, "clock_distance<1000", "its clock agrees with this host's"},
    {"clock", grade::warning, "", "its clock is {clock_distance:ms} {clock_side} this host's",
     "one of the two is wrong; if the server's is stepped forward, locks that are held end early",
     "timedatectl set-ntp true on both hosts; let the clock be slewed (chrony: makestep 1 3)"},
};

}  // namespace

std::int64_t number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem == std::errc::result_out_of_range)
    number = text.starts_with('-') ? -largest_number : largest_number;
  return std::clamp(number, -largest_number, largest_number);
}

void facts::set(std::string_view name, std::string_view text) {
  texts_.emplace(name, text.substr(0, longest_text));
}

const std::string& facts::text(std::string_view name) const {
  static const std::string unknown;
  const auto found = texts_.find(name);
  return found == texts_.end() ? unknown : found->second;
}

std::int64_t facts::number(std::string_view name) const { return number_in(text(name)); }

/// A text of a server may have places of its own: it is not looked through.
std::string fill(std::string_view sentence, const facts& of) {
  std::string filled;
  while (!sentence.empty()) {
    const std::size_t begin = std::min(sentence.find('{'), sentence.size());
    filled += sentence.substr(0, begin);
    sentence.remove_prefix(begin);
    if (sentence.empty()) break;
    const std::size_t end = sentence.find('}');
    filled += text_for(sentence.substr(1, end - 1), of);
    sentence.remove_prefix(end + 1);
  }
  return filled;
}

void examine(std::span<const condition> table, const facts& of, std::vector<finding>& to) {
  std::string_view judged;
  for (const condition& each : table) {
    if (each.name == judged || !applies(each.when, of)) continue;
    judged = each.name;
    to.push_back({of.subject, std::string{each.name}, each.result, fill(each.observed, of),
                  fill(each.meaning, of), fill(each.remedy, of)});
  }
}

/// Only the steps of that clock matter. One that is wrong will be set.
void set_clock(facts& of, std::chrono::microseconds ahead) {
  const std::int64_t ms = std::clamp(ahead.count() / 1000, -largest_number, largest_number);
  of.set("clock_distance", ms < 0 ? -ms : ms);
  of.set("clock_side", ms > 0 ? "ahead of" : "behind");
}

std::span<const condition> clock_conditions() { return clock_rows; }

}  // namespace holdfast::doctor
