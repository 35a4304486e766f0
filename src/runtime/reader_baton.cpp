#include "runtime/reader_baton.hpp"

#include <algorithm>
#include <chrono>
#include <unistd.h>

namespace holdfast::runtime {

bool reader_baton::take(store::caller& who) {
  const std::lock_guard hold{mutex_};
  const auto mine = std::find(others_.begin(), others_.end(), &who);
  if (leader_ == leader::nobody) {
    if (mine != others_.end()) others_.erase(mine);
    leader_ = leader::caller;
    ++led_;
    return true;
  }
  if (mine == others_.end()) others_.push_back(&who);
  if (leader_ == leader::background && !give_way_.exchange(true)) ring();
  return false;
}

void reader_baton::leave() {
  const std::lock_guard hold{mutex_};
  leader_ = leader::nobody;
  give_way_ = false;
  pass_on();
}

void reader_baton::retire(store::caller& who) {
  const std::lock_guard hold{mutex_};
  others_.erase(std::remove(others_.begin(), others_.end(), &who), others_.end());
  if (leader_ == leader::nobody) pass_on();  // it may have been called, and have no need to listen any more
}

void reader_baton::pass_on() {
  if (!others_.empty()) {
    others_.front()->call();
  } else if (sleeps_deeply_) {
    sleeps_deeply_ = false;
    rested_.notify_one();
  }
}

bool reader_baton::take_in_background(bool urgent) {
  const std::lock_guard hold{mutex_};
  if (leader_ != leader::nobody || (!others_.empty() && !urgent)) {
    if (leader_ == leader::nobody) pass_on();
    return false;
  }
  leader_ = leader::background;
  give_way_ = false;
  return true;
}

void reader_baton::rest() {
  constexpr std::chrono::milliseconds nap{2};
  std::unique_lock hold{mutex_};
  const auto is_woken = [this] { return woken_; };
  // A caller that was called and has not run yet is as good as one that leads. On a machine with more threads
  // than processors that may take seconds: this thread must not spend them asking again.
  const auto is_left_to_callers = [this] { return leader_ == leader::caller || !others_.empty(); };
  std::uint64_t seen = led_;
  while (!woken_ && (leader_ != leader::nobody || !others_.empty() || led_ != 0)) {
    rested_.wait_for(hold, nap, is_woken);
    if (woken_) break;
    const bool same = seen == led_;
    seen = led_;
    if (same && leader_ == leader::nobody && others_.empty()) break;
    if (!same || !is_left_to_callers()) continue;
    if (leader_ == leader::nobody)
      pass_on();  // it may have been called while there was no connection to listen to
    sleeps_deeply_ = true;
    rested_.wait(hold, [this] { return woken_ || !sleeps_deeply_; });
    sleeps_deeply_ = false;
  }
  woken_ = false;
}

void reader_baton::wake() {
  {
    const std::lock_guard hold{mutex_};
    woken_ = true;
  }
  rested_.notify_one();
}

void reader_baton::ring() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(bell_, &one, sizeof one);
}

}  // namespace holdfast::runtime
