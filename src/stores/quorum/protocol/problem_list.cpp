#include "stores/quorum/protocol/problem_list.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace holdfast::quorum {

namespace {

constexpr std::size_t most_reasons = 3;  // in a message

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

void problem_list::add(const std::string& place, const std::string& message) {
  const std::string prefix = place + ": ";
  if (place.empty() || !message.starts_with(prefix)) return reasons_.push_back({{}, message});
  std::string text = message.substr(prefix.size());
  const auto same = std::find_if(reasons_.begin(), reasons_.end(), [&](const reason& each) {
    return !each.places.empty() && each.text == text;
  });
  if (same != reasons_.end()) return same->places.push_back(place);
  reasons_.push_back({{place}, std::move(text)});
}

std::string problem_list::text() const {
  std::string all;
  for (std::size_t i = 0; i < std::min(reasons_.size(), most_reasons); ++i) {
    const reason& each = reasons_[i];
    all += "; " + (each.places.empty() ? "" : listed(each.places) + ": ") + each.text;
  }
  return all;
}

}  // namespace holdfast::quorum
