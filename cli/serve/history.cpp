// SPDX-License-Identifier: Apache-2.0
#include "serve/history.hpp"

#include <utility>

namespace holdfast::cli {

namespace {

/// A hold of another library has no token.
bool is_same_hold(const lock_summary& a, const lock_summary& b) {
  return a.holders != 0 && b.holders != 0 && a.holder_token == b.holder_token &&
         a.holder.pid == b.holder.pid && a.holder.host == b.holder.host && a.holder.label == b.holder.label;
}

}  // namespace

std::vector<std::string> hand_over_history::update(const snapshot& before, const snapshot& now) {
  std::vector<std::string> handed_over;
  auto former = before.rows.begin();
  for (const lock_row& row : now.rows) {
    for (; former != before.rows.end() && former->lock.name < row.lock.name; ++former)
      end(former->lock.name, now.taken_at);
    const bool is_known = former != before.rows.end() && former->lock.name == row.lock.name;
    const bool goes_on = is_known && is_same_hold(former->lock, row.lock);
    if (is_known) ++former;
    if (goes_on) continue;
    if (is_known) end(row.lock.name, now.taken_at);
    if (row.lock.holders == 0) continue;
    begin(row.lock, now.taken_at);
    if (before.revision != 0) handed_over.push_back(row.lock.name);
  }
  for (; former != before.rows.end(); ++former) end(former->lock.name, now.taken_at);
  return handed_over;
}

void hand_over_history::begin(const lock_summary& lock, boot_clock::time_point when) {
  auto& of_name = holds_[lock.name];
  of_name.push_back({next_number_, lock, when - lock.held_for, std::nullopt});
  order_.emplace(next_number_++, lock.name);
  if (of_name.size() > most_of_a_name) forget_first(lock.name);
  if (order_.size() > most) forget_first(std::string{order_.begin()->second});
}

void hand_over_history::end(const std::string& name, boot_clock::time_point when) {
  const auto found = holds_.find(name);
  if (found != holds_.end() && !found->second.back().ended) found->second.back().ended = when;
}

void hand_over_history::forget_first(const std::string& name) {
  const auto found = holds_.find(name);
  order_.erase(found->second.front().number);
  found->second.pop_front();
  if (found->second.empty()) holds_.erase(found);
}

json hand_over_history::describe(const std::string& name, boot_clock::time_point now) const {
  const auto found = holds_.find(name);
  if (found == holds_.end()) return nullptr;
  json events = json::array();
  for (const hold& each : found->second) {
    const claimant& holder = each.lock.holder;
    json object;
    if (each.lock.holder_token) object["token"] = each.lock.holder_token.value();
    object["holder"] = {
        {"host", holder.host}, {"pid", holder.pid}, {"program", holder.program}, {"label", holder.label}};
    object["mode"] = to_string(each.lock.mode);
    object["began_ago_s"] = to_seconds(now - each.began);
    object["ended_ago_s"] = nullptr;
    if (each.ended) object["ended_ago_s"] = to_seconds(now - *each.ended);
    events.push_back(std::move(object));
  }
  return {{"name", name}, {"events", std::move(events)}};
}

}  // namespace holdfast::cli
