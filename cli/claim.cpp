// SPDX-License-Identifier: Apache-2.0
#include "claim.hpp"

#include <charconv>
#include <fmt/format.h>
#include <set>
#include <string_view>

#include "failure.hpp"
#include "output/text.hpp"
#include <holdfast/lock_set.hpp>

namespace holdfast::cli {

std::optional<std::int64_t> positive_number(std::string_view text) {
  std::int64_t number = 0;
  const char* last = text.data() + text.size();
  const auto [end, problem] = std::from_chars(text.data(), last, number);
  if (problem != std::errc{} || end != last || number < 1) return std::nullopt;
  return number;
}

void set_permits(claim& wish, std::string_view text) {
  const auto slash = text.find('/');
  const auto permits = positive_number(text.substr(0, slash));
  const auto capacity = positive_number(slash == text.npos ? "" : text.substr(slash + 1));
  if (!permits || !capacity || *permits > *capacity) {
    throw failure{bad_usage,
                  fmt::format("--permits: '{}' is not N/OF with N from 1 to OF, such as 1/4", text)};
  }
  wish.mode = mode::permits;
  wish.permits = *permits;
  wish.capacity = *capacity;
}

std::vector<lock_spec> names_of(const claim& wish) {
  std::vector<lock_spec> names;
  switch (wish.mode) {
    case mode::exclusive: names.emplace_back(wish.name); break;
    case mode::shared: names.push_back(lock_spec::shared(wish.name)); break;
    case mode::permits: names.push_back(lock_spec::permits(wish.name, wish.capacity, wish.permits)); break;
  }
  names.insert(names.end(), wish.others.begin(), wish.others.end());
  return names;
}

void require_distinct_names(const claim& wish) {
  std::set<std::string_view> names{wish.name};
  for (const lock_spec& each : wish.others) {
    if (names.insert(each.name()).second) continue;
    throw failure{bad_usage, fmt::format("--and: the name '{}' is given twice", each.name())};
  }
}

std::string locks_text(const claim& wish) {
  const auto* const kind = wish.election ? "election" : wish.others.empty() ? "lock" : "locks";
  std::string text = fmt::format("the {} '{}'", kind, printable(wish.name));
  for (const lock_spec& each : wish.others) {
    text += fmt::format("{} '{}'", &each == &wish.others.back() ? " and" : ",", printable(each.name()));
  }
  if (!wish.store.empty()) text += fmt::format(" of {}", printable(wish.store));
  return text;
}

lock_options options_of(const claim& wish) {
  lock_options options;
  if (wish.ttl) options.ttl(*wish.ttl);
  if (wish.grace) options.grace(*wish.grace);
  if (wish.at_least) options.at_least(*wish.at_least);
  if (!wish.label.empty()) options.label(wish.label);
  return options;
}

std::optional<lease_set> acquire(client& locks, const claim& wish) {
  lock_set all{locks, names_of(wish), options_of(wish)};
  return wish.wait ? all.try_acquire_for(*wish.wait) : all.acquire();
}

}  // namespace holdfast::cli
