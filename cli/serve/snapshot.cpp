// SPDX-License-Identifier: Apache-2.0
#include "serve/snapshot.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace holdfast::cli {

namespace {

using namespace std::chrono_literals;

/// The moment at which a wait began is computed from an age, so it varies by the time that a request takes.
constexpr auto same_moment = 500ms;

bool is_same(const claimant& a, const claimant& b) {
  return a.pid == b.pid && a.host == b.host && a.program == b.program && a.label == b.label &&
         a.job == b.job && a.released == b.released && a.release_request == b.release_request;
}

bool is_same(const std::vector<server_note>& a, const std::vector<server_note>& b) {
  return std::ranges::equal(a, b, [](const server_note& one, const server_note& other) {
    return one.server == other.server && one.text == other.text && one.answers == other.answers;
  });
}

/// But for the age.
bool is_same(const lock_summary& a, const lock_summary& b) {
  return a.holders == b.holders && a.waiters == b.waiters && a.last_token == b.last_token &&
         a.holder_token == b.holder_token && a.mode == b.mode && a.capacity == b.capacity &&
         is_same(a.holder, b.holder) && is_same(a.notes, b.notes);
}

bool is_same(const lock_row& a, const lock_row& b) {
  if (!is_same(a.lock, b.lock) || a.grants_per_s != b.grants_per_s) return false;
  if (!a.waited_since || !b.waited_since) return !a.waited_since && !b.waited_since;
  return std::chrono::abs(*a.waited_since - *b.waited_since) < same_moment;
}

}  // namespace

json describe(const lock_row& row, boot_clock::time_point taken_at) {
  json object = describe(row.lock);
  if (row.lock.waiters == 0) {
    object["longest_wait_s"] = 0;
  } else if (row.waited_since) {
    object["longest_wait_s"] = std::max(0.0, to_seconds(taken_at - *row.waited_since));
  } else {
    object["longest_wait_s"] = nullptr;
  }
  object["grants_per_s"] = row.grants_per_s;
  return object;
}

snapshot_change snapshot_keeper::update(store_reader::view seen) {
  std::ranges::sort(seen.locks, {}, &lock_summary::name);
  waits_.update(seen.locks, seen.longest_waits, seen.inspected, seen.when);  // also of those beyond the rows
  snapshot next{.revision = last_.revision, .taken_at = seen.when, .total = seen.locks.size(), .rows = {}};
  seen.locks.resize(std::min(seen.locks.size(), snapshot::most_rows));
  next.rows.reserve(seen.locks.size());
  snapshot_change change;
  std::vector<bool> has_changed;
  rates_.begin();
  auto before = last_.rows.begin();
  for (lock_summary& lock : seen.locks) {
    lock_row row{.lock = std::move(lock)};
    row.waited_since = waits_.since(row.lock.name);
    row.grants_per_s = rates_.observe(row.lock, seen.when);
    for (; before != last_.rows.end() && before->lock.name < row.lock.name; ++before)
      change.removed.push_back(before->lock.name);
    const bool is_known = before != last_.rows.end() && before->lock.name == row.lock.name;
    has_changed.push_back(!is_known || !is_same(row, *before));
    if (is_known) ++before;
    next.rows.push_back(std::move(row));
  }
  for (; before != last_.rows.end(); ++before) change.removed.push_back(before->lock.name);
  for (std::size_t i = 0; i < has_changed.size(); ++i) {
    if (has_changed[i]) change.changed.push_back(&next.rows[i]);
  }
  const bool is_first = last_.revision == 0;
  if (is_first || !change.changed.empty() || !change.removed.empty() || next.total != last_.total)
    ++next.revision;
  previous_ = std::exchange(last_, std::move(next));  // the rows stay where they are
  return change;
}

}  // namespace holdfast::cli
