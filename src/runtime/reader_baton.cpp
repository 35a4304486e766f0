// SPDX-License-Identifier: Apache-2.0
#include "runtime/reader_baton.hpp"

#include <algorithm>
#include <chrono>
#include <unistd.h>

namespace holdfast::runtime {

bool reader_baton::take(store::caller& caller, bool urgent) {
  const annotated::lock held{mutex_};
  const auto position = std::find(waiting_.begin(), waiting_.end(), &caller);
  if (reader_ == reader::nobody) {
    if (position != waiting_.end()) waiting_.erase(position);
    reader_ = reader::caller;
    ++turns_of_callers_;
    return true;
  }
  if (position == waiting_.end()) waiting_.insert(urgent ? waiting_.begin() : waiting_.end(), &caller);
  if (reader_ == reader::background && !give_way_.exchange(true)) ring();
  return false;
}

void reader_baton::leave() {
  const annotated::lock held{mutex_};
  reader_ = reader::nobody;
  give_way_ = false;
  pass_on();
}

void reader_baton::retire(store::caller& caller) {
  const annotated::lock held{mutex_};
  waiting_.erase(std::remove(waiting_.begin(), waiting_.end(), &caller), waiting_.end());
  if (reader_ == reader::nobody) pass_on();  // it may have been called, and have no need to read any more
}

void reader_baton::pass_on() {
  if (!waiting_.empty()) {
    waiting_.front()->call();
  } else if (sleeps_deeply_) {
    sleeps_deeply_ = false;
    rested_.notify_one();
  }
}

bool reader_baton::take_in_background(bool urgent) {
  const annotated::lock held{mutex_};
  if (reader_ != reader::nobody || (!waiting_.empty() && !urgent)) {
    if (reader_ == reader::nobody) pass_on();
    return false;
  }
  reader_ = reader::background;
  give_way_ = false;
  return true;
}

void reader_baton::rest() {
  constexpr std::chrono::milliseconds nap{2};
  const annotated::lock held{mutex_};
  std::uint64_t seen = turns_of_callers_;
  while (!woken_ && (reader_ != reader::nobody || !waiting_.empty() || turns_of_callers_ != 0)) {
    const auto end = std::chrono::steady_clock::now() + nap;
    while (!woken_ && rested_.wait_until(mutex_, end) == std::cv_status::no_timeout) {
    }
    if (woken_) break;
    const bool same = seen == turns_of_callers_;
    seen = turns_of_callers_;
    if (same && reader_ == reader::nobody && waiting_.empty()) break;
    // A caller that was called and has not run yet is as good as one that reads. On a machine with more
    // threads than processors that may take seconds: this thread must not spend them asking again.
    if (!same || (reader_ != reader::caller && waiting_.empty())) continue;
    if (reader_ == reader::nobody)
      pass_on();  // it may have been called while there was no connection to read
    sleeps_deeply_ = true;
    while (!woken_ && sleeps_deeply_) rested_.wait(mutex_);
    sleeps_deeply_ = false;
  }
  woken_ = false;
}

void reader_baton::wake() {
  {
    const annotated::lock held{mutex_};
    woken_ = true;
  }
  rested_.notify_one();
}

void reader_baton::ring() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wakeup_fd_, &one, sizeof one);
}

}  // namespace holdfast::runtime
