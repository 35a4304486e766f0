// SPDX-License-Identifier: Apache-2.0
#include "simulation/redis/dataset.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace holdfast::sim {

namespace {

using scored = sorted_set_value::scored;

}  // namespace

void dataset::note(slot& s) {
  ++changes_;
  if (!std::exchange(s.second.noted, true)) touched_.insert(s.first);
}

/// Whoever looks at a key whose time is over deletes it: a clock that is set back brings it to life no more.
dataset::slot* dataset::find(std::string_view key) {
  const auto found = slots_.find(key);
  if (found == slots_.end()) return nullptr;
  if (found->second.expires_ms >= now_ms_) return &*found;
  slots_.erase(found);
  return nullptr;
}

const dataset::slot* dataset::find(std::string_view key) const {
  const auto found = slots_.find(key);
  return found == slots_.end() || found->second.expires_ms < now_ms_ ? nullptr : &*found;
}

dataset::slot& dataset::put(std::string_view key, content value, std::int64_t expires_ms) {
  auto found = slots_.find(key);
  if (found == slots_.end()) {
    found = slots_.emplace(key, entry{std::move(value), expires_ms}).first;
  } else {
    found->second.value = std::move(value);
    found->second.expires_ms = expires_ms;
  }
  note(*found);
  return *found;
}

void dataset::erase(slot& s) {
  note(s);
  slots_.erase(slots_.find(s.first));
}

void dataset::clear() {
  while (!slots_.empty()) erase(*slots_.begin());
}

void dataset::set_expiry(slot& s, std::int64_t expires_ms) {
  note(s);
  s.second.expires_ms = expires_ms;
}

void dataset::insert_member(slot& s, double score, std::string_view member) {
  note(s);
  auto& members = std::get<sorted_set_value>(s.second.value).members;
  const auto before = [](const scored& a, const std::pair<double, std::string_view>& b) {
    return std::tuple<double, std::string_view>{a.score, a.member} <
           std::tuple<double, std::string_view>{b.first, b.second};
  };
  const auto at = std::lower_bound(members.begin(), members.end(),
                                   std::pair<double, std::string_view>{score, member}, before);
  members.insert(at, {score, std::string{member}});
}

void dataset::erase_member(slot& s, std::size_t index) {
  note(s);
  auto& members = std::get<sorted_set_value>(s.second.value).members;
  members.erase(members.begin() + static_cast<std::ptrdiff_t>(index));
}

void dataset::restore(dataset backup) {
  slots_ = std::move(backup.slots_);
  for (slot& s : slots_) s.second.noted = false;
}

std::vector<std::string> dataset::take_touched() {
  for (slot& s : slots_) s.second.noted = false;
  std::vector<std::string> names;
  names.reserve(touched_.size());
  while (!touched_.empty()) names.push_back(std::move(touched_.extract(touched_.begin()).value()));
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace holdfast::sim
