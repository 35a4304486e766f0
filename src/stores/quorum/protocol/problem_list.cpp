// SPDX-License-Identifier: Apache-2.0
#include "stores/quorum/protocol/problem_list.hpp"

#include <algorithm>
#include <utility>

#include "stores/quorum/protocol/ballots.hpp"

namespace holdfast::quorum {

namespace {

constexpr std::size_t most_reasons = 3;  // in a message

/// Behind it the text of a server begins. "a:63790: gone" is none of "a:6379".
std::string prefix_of(std::string_view place) { return std::string{place} + ": "; }

/// "a:1", "a:1 and b:1", "a:1, b:1 and c:1"
std::string listed(const std::vector<std::string>& places) {
  std::string text;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (i != 0) text += i + 1 == places.size() ? " and " : ", ";
    text += places[i];
  }
  return text;
}

}  // namespace

std::string with_place(std::string_view place, std::string text) {
  const std::string prefix = prefix_of(place);
  if (!text.starts_with(prefix)) text.insert(0, prefix);
  return text;
}

std::string without_place(std::string_view place, std::string text) {
  const std::string prefix = prefix_of(place);
  if (text.starts_with(prefix)) text.erase(0, prefix.size());
  return text;
}

store::request_error no_answer_of(std::string_view place) {
  store::request_error e = store::no_answer();
  e.reason.message = std::string{place} + " does not answer";
  return e;
}

void problem_list::add(const std::string& place, const std::string& message) {
  std::string text = without_place(place, message);
  if (text.size() == message.size()) return reasons_.push_back({{}, message});
  const auto same = std::find_if(reasons_.begin(), reasons_.end(), [&](const reason& each) {
    return !each.places.empty() && each.text == text;
  });
  if (same != reasons_.end()) return same->places.push_back(place);
  reasons_.push_back({{place}, std::move(text)});
}

void problem_list::add(const std::string& place, const store::request_error& problem) {
  add(place, problem.reason.message);
  problems_.push_back(problem);
}

std::string problem_list::text() const {
  std::string all;
  for (std::size_t i = 0; i < std::min(reasons_.size(), most_reasons); ++i) {
    const reason& each = reasons_[i];
    all += "; " + (each.places.empty() ? "" : listed(each.places) + ": ") + each.text;
  }
  return all;
}

store::request_error problem_list::of_majority(std::size_t servers) const {
  const auto final_ones = static_cast<std::size_t>(
      std::count_if(problems_.begin(), problems_.end(), [](const auto& each) { return !each.retryable; }));
  store::request_error e{
      {errc::unavailable, ""}, final_ones <= servers - ballots::majority_of(servers), true};
  const auto first = std::find_if(problems_.begin(), problems_.end(),
                                  [&](const auto& each) { return each.retryable == e.retryable; });
  if (first != problems_.end()) e.reason.code = first->reason.code;
  e.reason.message = std::to_string(problems_.size()) + " of " + std::to_string(servers) +
                     " servers do not answer or refuse, and a majority is needed" + text();
  return e;
}

}  // namespace holdfast::quorum
