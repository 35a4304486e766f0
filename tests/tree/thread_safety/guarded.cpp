// SPDX-License-Identifier: Apache-2.0
// A counter as the library would have one. With -DTOUCH it also has a function that forgets to lock: clang
// has to refuse that one, and to take the rest. tests/tree/CMakeLists.txt compiles both.

#include "base/annotated_mutex.hpp"
#include "runtime/event_loop.hpp"

namespace {

using namespace holdfast;

class counter {
 public:
  explicit counter(runtime::event_loop& loop) : loop_{loop} {}

  void add() {
    const annotated::lock held{mutex_};
    ++count_;
  }
  void add_in_core() {
    const runtime::core_lock held{loop_};
    ++core_count_;
  }
  void wait_for_one() {
    const annotated::lock held{mutex_};
    while (count_ == 0) changed_.wait(mutex_);
  }
#if TOUCH == 1
  void forget_to_lock() { ++count_; }
#elif TOUCH == 2
  void forget_to_lock() { ++core_count_; }
#endif

 private:
  runtime::event_loop& loop_;
  annotated::mutex mutex_;
  annotated::condition_variable changed_;
  int count_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  int core_count_ HOLDFAST_GUARDED_BY(loop_) = 0;
};

}  // namespace

void use(runtime::event_loop& loop) {
  counter c{loop};
  c.add();
  c.add_in_core();
  c.wait_for_one();
#if TOUCH != 0
  c.forget_to_lock();
#endif
}
