// SPDX-License-Identifier: Apache-2.0
#include "live/first_waiters.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace holdfast::cli {

void first_waiters::update(const std::vector<lock_summary>& locks, const wait_lengths& seen,
                           const std::vector<std::string>& looked_at, boot_clock::time_point when) {
  auto former = std::exchange(waits_, {});
  for (const lock_summary& lock : locks) {
    if (lock.waiters == 0) continue;
    // A new name stands behind those that have waited for longer: else new ones could keep an old one out.
    wait now{.waiters = lock.waiters, .last_token = lock.last_token, .looked_at = when};
    if (const auto before = former.find(lock.name); before != former.end()) {
      now.looked_at = before->second.looked_at;
      if (before->second.last_token == lock.last_token) now.since = before->second.since;
    }
    waits_.emplace(lock.name, now);
  }
  for (const auto& name : looked_at)
    if (const auto found = waits_.find(name); found != waits_.end()) found->second.looked_at = when;
  for (const auto& [name, length] : seen) {
    const auto found = waits_.find(name);
    if (found == waits_.end()) continue;
    found->second.since = when - length;
    found->second.looked_at = when;
  }
}

std::optional<boot_clock::time_point> first_waiters::since(std::string_view name) const {
  const auto found = waits_.find(name);
  return found == waits_.end() ? std::nullopt : found->second.since;
}

bool first_waiters::has_unknown() const {
  return std::ranges::any_of(waits_, [](const auto& each) { return !each.second.since; });
}

std::vector<std::string> first_waiters::names_to_look_at(std::size_t at_most) const {
  std::vector<const table::value_type*> waited;
  waited.reserve(waits_.size());
  for (const auto& each : waits_) waited.push_back(&each);
  const auto order = [](const table::value_type* each) {
    return std::tuple{each->second.looked_at, ~each->second.waiters};
  };
  const auto end = waited.begin() + static_cast<std::ptrdiff_t>(std::min(at_most, waited.size()));
  std::ranges::partial_sort(waited, end, {}, order);
  std::vector<std::string> names;
  for (auto each = waited.begin(); each != end; ++each) names.push_back((*each)->first);
  std::ranges::sort(names);
  return names;
}

}  // namespace holdfast::cli
