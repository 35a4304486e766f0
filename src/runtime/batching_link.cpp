// SPDX-License-Identifier: Apache-2.0
#include "runtime/batching_link.hpp"

#include <algorithm>
#include <iterator>
#include <sys/prctl.h>

#include "runtime/signals.hpp"

namespace holdfast::runtime {

void batching_link::send(tickets::request request, on_reply done) noexcept {
  loop_.assert_core_locked();
  queue_.emplace_back(std::move(request), std::move(done));
  queued_ = queue_.size();
}

void batching_link::take_back(std::uint64_t request) {
  loop_.assert_core_locked();
  const auto found = std::find_if(queue_.begin(), queue_.end(),
                                  [&](const job& each) { return each.done.request == request; });
  if (found == queue_.end()) return;
  const on_reply done = std::move(found->done);
  queue_.erase(found);
  queued_ = queue_.size();
  done(store::unsent({errc::unavailable, "others keep the store busy"}));
}

void batching_link::start() {
  thread_ = quiet_thread([this] { work(); });
}

void batching_link::shut() {
  {
    const annotated::lock held{wake_mutex_};
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void batching_link::deliver(const std::vector<store::notification>& notifications) noexcept {
  const core_lock now{loop_};
  pass_on(notifications);
}

void batching_link::pass_on(const std::vector<store::notification>& notifications) const {
  for (const store::notification& n : notifications) on_notification_(n);
}

std::vector<batching_link::job> batching_link::take_queue() {
  const core_lock now{loop_, true};
  queued_ = 0;
  return std::exchange(queue_, std::move(empty_));
}

/// Before what others have sent meanwhile.
void batching_link::queue_again(std::vector<job> batch) {
  const core_lock now{loop_, true};
  queue_.insert(queue_.begin(), std::make_move_iterator(batch.begin()), std::make_move_iterator(batch.end()));
  queued_ = queue_.size();
}

batching_link::progress batching_link::run(bool last_try, bool drives) noexcept {
  annotated::lock held{executing_, std::adopt_lock};
  std::vector<job> batch = take_queue();
  if (batch.empty()) return progress::none;
  if (!execute(batch, last_try)) {
    queue_again(std::move(batch));
    return progress::blocked;
  }
  const std::vector<store::notification> notifications = std::exchange(notifications_, {});
  held.unlock();
  const core_lock now{loop_, drives};
  for (job& j : batch) j.done(std::move(j.result));
  pass_on(notifications);
  batch.clear();
  empty_ = std::move(batch);
  return progress::some;
}

void batching_link::help(store::caller& blocked) {
  while (!blocked.is_served()) {
    if (drive_for(&blocked)) continue;
    kick();
    blocked.wait();
  }
  kick();  // for what others sent meanwhile, relying on us
}

bool batching_link::drive() { return drive_for(nullptr); }

/// Others may be at it for long, one part of a look after another: they carry out what this caller has sent.
bool batching_link::drive_for(const store::caller* blocked) {
  // Whoever is at it needs microseconds as a rule: less than it takes to be put to sleep and woken.
  constexpr int patience = 200;
  for (int i = 0; !executing_.try_lock(); ++i) {
    if (i == patience || (blocked != nullptr && blocked->is_served())) return false;
    std::this_thread::yield();
  }
  driven_.fetch_add(1, std::memory_order_relaxed);
  return run(false, true) == progress::some;
}

void batching_link::kick() {
  if (queued_ == 0 || wanted_.exchange(true)) return;
  {
    const annotated::lock held{wake_mutex_};
  }
  wake_.notify_one();
}

void batching_link::work() {
  using namespace std::chrono_literals;
  constexpr std::chrono::microseconds shortest_nap = 50us;
  constexpr std::chrono::microseconds longest_nap = 2ms;
  constexpr int linger = 20;  // naps without work before a deep sleep, after others drove
  constexpr std::chrono::milliseconds limit = 500ms;  // for others to finish what takes microseconds

  ::prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);  // a nap is as long as it says
  while (sleep()) {
    std::chrono::microseconds nap = shortest_nap;
    store::time_point blocked_since{};
    std::size_t driven = driven_;
    int naps_left = 0;
    do {
      const bool others_drive = std::exchange(driven, driven_) != driven;
      if (others_drive) naps_left = linger;
      if (queued_ != 0 && !others_drive) {
        const bool last_try = nap > shortest_nap && boot_clock::now() > blocked_since + limit;
        executing_.lock();
        switch (run(last_try, false)) {
          case progress::some: nap = shortest_nap; continue;
          case progress::blocked:
            if (nap == shortest_nap) blocked_since = boot_clock::now();
            nap = std::min(nap * 2, longest_nap);
            break;
          case progress::none: break;
        }
      }
      if (queued_ == 0 && naps_left-- == 0) break;
      if (!take_nap(nap) && (queued_ == 0 || nap > shortest_nap)) return;
    } while (true);
  }
}

/// Until somebody asks for the thread. False when it is to end, and nothing is left to do.
bool batching_link::sleep() {
  const annotated::lock held{wake_mutex_};
  wanted_ = false;
  if (queued_ != 0) wanted_ = true;  // sent while nobody was asked, because the thread seemed to be up
  while (!wanted_ && !stopping_) wake_.wait(wake_mutex_);
  wanted_ = true;
  return !stopping_ || queued_ != 0;
}

/// False when the thread is to end.
bool batching_link::take_nap(std::chrono::microseconds length) {
  const auto end = std::chrono::steady_clock::now() + length;
  const annotated::lock held{wake_mutex_};
  while (!stopping_ && wake_.wait_until(wake_mutex_, end) == std::cv_status::no_timeout) {
  }
  return !stopping_;
}

}  // namespace holdfast::runtime
