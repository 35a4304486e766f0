// SPDX-License-Identifier: Apache-2.0
#include "core/journal.hpp"

#include <algorithm>
#include <bit>

#include "base/metadata.hpp"

namespace holdfast::events {

namespace {

/// The bucket of a duration: the first whose bound it does not exceed.
std::size_t bucket_of(duration measured) {
  const auto us = static_cast<std::uint64_t>(std::max<std::int64_t>(measured.count(), 1));
  const auto bits = static_cast<std::size_t>(std::bit_width(us - 1));
  return bits <= 4 ? 0 : std::min((bits - 3) / 2, histogram::bucket_count - 1);
}

/// Events that one turn tells. Other callbacks of the client get their turn in between.
constexpr int events_in_a_turn = 64;

}  // namespace

counter grants_of(mode m) noexcept {
  switch (m) {
    case mode::exclusive: return counter::granted_exclusive;
    case mode::shared: return counter::granted_shared;
    case mode::permits: return counter::granted_permits;
  }
  return counter::granted_exclusive;
}

counter losses_of(loss_reason reason) noexcept {
  switch (reason) {
    case loss_reason::ended_at_store: return counter::lost_ended_at_store;
    case loss_reason::not_renewed: return counter::lost_not_renewed;
    case loss_reason::session_ended: return counter::lost_session_ended;
    case loss_reason::client_closed: return counter::lost_client_closed;
  }
  return counter::lost_ended_at_store;
}

void describe(const store::claim& c, event& e) {
  e.name = c.name;
  e.mode = c.mode;
  if (c.mode == mode::permits) e.permits = c.permits;
  if (c.metadata) e.label = from_metadata(*c.metadata).label;
}

void live_histogram::add(duration measured) noexcept {
  auto& count = counts_[bucket_of(measured)];
  count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  sum_us_.store(sum_us_.load(std::memory_order_relaxed) + measured.count(), std::memory_order_relaxed);
}

histogram live_histogram::value() const noexcept {
  histogram read;
  for (std::size_t i = 0; i < read.counts.size(); ++i) {
    read.counts[i] = counts_[i].load(std::memory_order_relaxed);
  }
  read.sum = duration{sum_us_.load(std::memory_order_relaxed)};
  return read;
}

void journal::observe(observer watches, executor later) {
  observer_ = std::move(watches);
  later_ = std::move(later);
  observed_ = observer_ != nullptr;
}

void journal::push(event e) {
  e.at = boot_clock::now();
  {
    const annotated::lock held{mutex_};
    if (!is_observed()) return;
    if (queue_.size() >= capacity) {
      ++untold_drops_;
      count(counter::events_dropped);
      return;
    }
    e.dropped = untold_drops_;
    queue_.push_back(std::move(e));
    untold_drops_ = 0;
    if (std::exchange(delivers_, true)) return;
  }
  later_([this] { deliver(); });
}

/// The observer may throw, which ends the process, as with the other callbacks.
void journal::deliver() {
  for (int i = 0; i < events_in_a_turn; ++i) {
    const std::optional<event> e = next();
    if (!e) return;
    observer_(*e);
  }
  {
    const annotated::lock held{mutex_};
    calls_ = {};
    changed_.notify_all();
  }
  later_([this] { deliver(); });
}

/// Takes the next event; the thread is in the observer from then on. Without one the delivery ends.
std::optional<event> journal::next() {
  const annotated::lock held{mutex_};
  calls_ = {};
  if (queue_.empty()) delivers_ = false;
  changed_.notify_all();
  if (!delivers_) return std::nullopt;
  std::optional<event> first{std::move(queue_.front())};
  queue_.pop_front();
  calls_ = std::this_thread::get_id();
  return first;
}

void journal::end(std::optional<std::chrono::steady_clock::time_point> limit) noexcept {
  const annotated::lock held{mutex_};
  const bool is_inside = calls_ == std::this_thread::get_id();
  while (limit && !is_inside && delivers_ &&
         changed_.wait_until(mutex_, *limit) == std::cv_status::no_timeout) {
  }
  observed_ = false;
  counters_[static_cast<std::size_t>(counter::events_dropped)].fetch_add(queue_.size(),
                                                                         std::memory_order_relaxed);
  queue_.clear();
  while (!is_inside && calls_ != std::thread::id{}) changed_.wait(mutex_);
}

client_statistics journal::statistics() const noexcept {
  client_statistics s;
  s.connects = value(counter::connects);
  s.connect_failures = value(counter::connect_failures);
  s.disconnects = value(counter::disconnects);
  s.released = value(counter::released);  // before the grants: see client_statistics::held
  s.lost_ended_at_store = value(counter::lost_ended_at_store);
  s.lost_not_renewed = value(counter::lost_not_renewed);
  s.lost_session_ended = value(counter::lost_session_ended);
  s.lost_client_closed = value(counter::lost_client_closed);
  s.granted_exclusive = value(counter::granted_exclusive);
  s.granted_shared = value(counter::granted_shared);
  s.granted_permits = value(counter::granted_permits);
  s.queued = value(counter::queued);
  s.refused = value(counter::refused);
  s.failed = value(counter::failed);
  s.withdrawn = value(counter::withdrawn);
  s.troubles = value(counter::troubles);
  s.renewals = value(counter::renewals);
  s.late_renewals = value(counter::late_renewals);
  s.events_dropped = value(counter::events_dropped);
  s.wait = wait.value();
  s.hold = hold.value();
  s.lateness = lateness.value();
  return s;
}

}  // namespace holdfast::events
