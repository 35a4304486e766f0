// SPDX-License-Identifier: Apache-2.0
#include "runtime/event_loop.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <sys/timerfd.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>

#include "base/kernel_random.hpp"
#include "base/numbered.hpp"
#include "holdfast/error.hpp"
#include "runtime/lane.hpp"
#include "runtime/signals.hpp"

namespace holdfast::runtime {

namespace asio = boost::asio;

namespace {

[[noreturn]] void exhausted(const char* problem, int code) {
  throw error{errc::exhausted, std::string{problem} + ": " + std::strerror(code)};
}

std::timespec to_timespec(store::time_point when) {
  const auto since = when.time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since);
  return {static_cast<time_t>(seconds.count()), static_cast<long>((since - seconds).count())};
}

}  // namespace

/// What is to happen when, and a timerfd that is armed for the earliest of it. Disarming is left out: a
/// tick for nothing is cheaper than a system call with every cancelled timer.
class event_loop::timers {
  struct planned {
    store::time_point when;
    std::function<void()> action;

    explicit operator bool() const { return action != nullptr; }
  };

 public:
  timers() : descriptor_{::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)} {
    if (descriptor_ < 0) exhausted("cannot create a timer (timerfd_create)", errno);
  }
  ~timers() { ::close(descriptor_); }
  timers(const timers&) = delete;
  timers& operator=(const timers&) = delete;

  timer add(store::time_point when, std::function<void()>&& action) {
    const timer id = ++last_;
    actions_.add(id, {when, std::move(action)});
    due_.push_back({when, id});
    std::push_heap(due_.begin(), due_.end(), std::greater{});
    if (when < armed_) arm(when);
    return id;
  }
  void remove(timer id) {
    if (actions_.take_out(id)) forget_removed();
  }
  /// Takes out the first that is due, or arms for the next and gives nothing.
  std::function<void()> take(store::time_point now) {
    while (!due_.empty()) {
      const auto [when, id] = due_.front();
      if (when > now && actions_.contains(id)) {
        arm(when);
        return nullptr;
      }
      std::pop_heap(due_.begin(), due_.end(), std::greater{});
      due_.pop_back();
      if (auto taken = actions_.take_out(id)) return std::move(taken.action);
    }
    armed_ = store::time_point::max();
    return nullptr;
  }
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  /// Most timers are removed before they fire. Their entries stay in the heap until there are many.
  void forget_removed() {
    constexpr std::size_t few = 64;
    if (due_.size() < 2 * actions_.size() + few) return;
    due_.clear();
    for (auto each = actions_.first_from(0); each != actions_.end(); ++each) {
      if (each->value) due_.push_back({each->value.when, each->number});
    }
    std::make_heap(due_.begin(), due_.end(), std::greater{});
  }
  void arm(store::time_point when) {
    armed_ = when;
    itimerspec spec{};
    spec.it_value = to_timespec(std::max(when, store::time_point{std::chrono::nanoseconds{1}}));
    ::timerfd_settime(descriptor_, TFD_TIMER_ABSTIME, &spec, nullptr);
  }

  int descriptor_;
  timer last_ = 0;
  store::time_point armed_ = store::time_point::max();
  numbered<planned> actions_;
  std::vector<std::pair<store::time_point, timer>> due_;  // a heap, the next first
};

/// All threads are made with the client, which can say that there is none; a loss cannot.
struct event_loop::io {
  asio::io_context context{1};  // timers and descriptors
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work{context.get_executor()};
  std::thread thread;
  std::shared_ptr<void> ticks;
  lane signals;
  lane callbacks;
};

namespace {

/// A descriptor that is listened to; lives as long as either its registration or its handler.
struct listener : std::enable_shared_from_this<listener> {
  listener(asio::io_context& context, int fd, std::function<void()> on_heard)
      : descriptor{context, fd}, heard{std::move(on_heard)} {}
  listener(const listener&) = delete;
  listener& operator=(const listener&) = delete;

  void listen() {
    descriptor.async_wait(asio::posix::stream_descriptor::wait_read,
                          [self = shared_from_this()](const boost::system::error_code& code) {
                            const annotated::recursive_lock held{self->mutex};
                            if (code || self->ended) return;
                            self->heard();
                            self->listen();
                          });
  }
  /// After this returns, `heard` is not running and never will be again, unless it is the caller.
  void end() {
    const annotated::recursive_lock held{mutex};
    ended = true;
    descriptor.release();  // off the reactor now; closing it is up to whoever registered it
  }

  asio::posix::stream_descriptor descriptor;
  std::function<void()> heard;
  annotated::recursive_mutex mutex;  // locked while `heard` runs, which may end its own registration
  bool ended HOLDFAST_GUARDED_BY(mutex) = false;
};

}  // namespace

event_loop::event_loop() : timers_{std::make_unique<timers>()} {
  try {
    io_ = std::make_unique<io>();
    io_->ticks = on_readable(timers_->descriptor(), [this, descriptor = timers_->descriptor()] {
      std::uint64_t ticks = 0;
      while (::read(descriptor, &ticks, sizeof ticks) > 0) {
      }
      fire();
    });
    io_->thread = quiet_thread([&context = io_->context] { context.run(); });
  } catch (const std::exception& e) {  // Boost's, or a thread's: out of descriptors, memory or threads
    if (io_) stop();
    throw error{errc::exhausted, std::string{"cannot create the event loop of the client: "} + e.what()};
  }
}

event_loop::~event_loop() { stop(); }

void event_loop::stop() {
  io_->ticks.reset();
  io_->work.reset();
  if (io_->thread.joinable()) io_->thread.join();
  io_->signals.finish();  // which may leave callbacks
  io_->callbacks.finish();
  stopped_ = true;
}

void event_loop::observe(events::journal::observer observer) {
  journal_.observe(std::move(observer), [this](std::function<void()> turn) { call_back(std::move(turn)); });
}

void event_loop::call_back(std::function<void()> action) noexcept { io_->callbacks.post(std::move(action)); }

std::shared_ptr<void> event_loop::on_readable(int descriptor, std::function<void()> heard) {
  auto entry = std::make_shared<listener>(io_->context, descriptor, std::move(heard));
  // From the loop's own thread, so that no caller comes to hold the entry's mutex under the core lock: the
  // order is always the other way round.
  const auto listen_soon = [&]() noexcept {
    asio::post(io_->context, [entry] {
      const annotated::recursive_lock held{entry->mutex};
      if (!entry->ended) entry->listen();
    });
  };
  listen_soon();
  return {static_cast<void*>(entry.get()), [entry](void*) { entry->end(); }};
}

std::uint64_t event_loop::random() {
  assert_core_locked();
  if (random_left_ == 0) {
    fill_randomly(std::as_writable_bytes(std::span{random_}));
    random_left_ = random_.size();
  }
  return random_[--random_left_];
}

store::scheduler::timer event_loop::at(store::time_point when, std::function<void()> action) noexcept {
  assert_core_locked();
  return timers_->add(when, std::move(action));
}

void event_loop::cancel(timer which) noexcept {
  assert_core_locked();
  if (which != 0) timers_->remove(which);
}

void event_loop::defer_callback(std::function<void()> action) noexcept {
  assert_core_locked();
  deferred_.callbacks.push_back(std::move(action));
}

void event_loop::defer_signal(std::function<void()> action) noexcept {
  assert_core_locked();
  deferred_.signals.push_back(std::move(action));
}

void event_loop::defer(std::function<void()> action) noexcept {
  assert_core_locked();
  deferred_.here.push_back(std::move(action));
}

void event_loop::fire() noexcept {
  const core_lock now_firing{*this};
  // Read once: an action that is to be repeated at once must not keep the lock for ever.
  const store::time_point until = now();
  while (auto action = timers_->take(until)) action();
}

void event_loop::assert_core_locked() const {
  assert(stopped_ || owner_.load(std::memory_order_relaxed) == std::this_thread::get_id());
}

// The analysis does not know that the mutex and the loop are one capability.
void event_loop::lock() HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
  mutex_.lock();
  owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
}

void event_loop::unlock(bool drives) noexcept HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
  if (!deferred_.empty()) return unlock_and_catch_up(drives);
  owner_.store({}, std::memory_order_relaxed);
  mutex_.unlock();
  kick(drives);
}

void event_loop::unlock_and_catch_up(bool drives) noexcept HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
  deferred actions = std::exchange(deferred_, {});
  owner_.store({}, std::memory_order_relaxed);
  mutex_.unlock();
  for (auto& action : actions.signals) io_->signals.post(std::move(action));
  for (auto& action : actions.callbacks) call_back(std::move(action));
  kick(drives);
  for (const auto& action : actions.here) action();
}

}  // namespace holdfast::runtime
