#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <sys/prctl.h>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "base/annotated_mutex.hpp"
#include "core/link.hpp"
#include "runtime/event_loop.hpp"
#include "runtime/signals.hpp"

namespace holdfast::runtime {

/// A link over calls that block, for stores inside this process or on this host: whatever has been sent by
/// the time somebody gets to it is carried out together, by the link's own thread or by a caller who drives.
///
/// Waking a sleeping thread costs several times what a small transaction does. So the thread keeps out of the
/// way while callers drive, who carry out what others have sent along with their own; and it lingers in short
/// naps then, not to be woken for every release.
///
/// A derived class supplies `execute`, and calls `start` last in its constructor; `shut` has to be called
/// before it is destroyed.
template <class Request, class Reply>
class batching_link : public store::link<Request, Reply> {
 public:
  using typename store::link<Request, Reply>::outcome;
  using typename store::link<Request, Reply>::on_reply;
  using typename store::link<Request, Reply>::on_notification;

  ~batching_link() override = default;

  void send(Request request, on_reply done) override {
    const annotated::lock held{queue_mutex_};
    queue_.push_back({std::move(request), std::move(done), {}});
    queued_ = queue_.size();
  }
  void on_notifications(on_notification handler) override { on_notification_ = std::move(handler); }
  void help(store::caller& blocked) override;
  bool drive() override;
  void kick() override;
  /// Ends the link's thread. Nothing is delivered afterwards. Idempotent.
  virtual void shut() {
    {
      const annotated::lock held{wake_mutex_};
      stopping_ = true;
    }
    wake_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

 protected:
  struct job {
    Request request;
    on_reply done;
    outcome result;
  };

  explicit batching_link(event_loop& owner) : loop_{owner} {}

  /// Carries out all of them, in order, and fills in their results. Called by one thread at a time, without
  /// the core lock.
  /// \return false with nothing done when others keep the store busy. Not on the last try, which fails all
  ///         of them instead.
  virtual bool execute(std::vector<job>& batch, bool last_try) HOLDFAST_REQUIRES(executing_) = 0;

  void start() {
    thread_ = quiet_thread([this] { work(); });
  }
  /// For `execute`: a notification for a claim of this client, delivered with the batch's results.
  void deliver_after_batch(const store::notification& n) HOLDFAST_REQUIRES(executing_) {
    notifications_.push_back(n);
  }
  /// Delivers notifications at once. Any thread, without the core lock.
  void deliver(const std::vector<store::notification>& notifications) {
    const core_lock now{loop_};
    for (const store::notification& n : notifications) on_notification_(n);
  }
  [[nodiscard]] event_loop& owner() { return loop_; }
  /// Held by whoever executes: for those who need the link at rest.
  [[nodiscard]] annotated::mutex& executing() HOLDFAST_RETURN_CAPABILITY(executing_) { return executing_; }

 private:
  enum class progress : std::uint8_t { none, some, blocked };

  /// One batch. Unlocks `executing_` before anything is delivered: others can execute meanwhile.
  progress run(bool last_try, bool drives) HOLDFAST_RELEASE(executing_);
  void work();
  bool sleep();
  bool take_nap(std::chrono::microseconds length);

  std::vector<job> take_queue() {
    const annotated::lock held{queue_mutex_};
    queued_ = 0;
    return std::exchange(queue_, {});
  }
  void put_back(std::vector<job> batch) {
    const annotated::lock held{queue_mutex_};
    batch.insert(batch.end(), std::make_move_iterator(queue_.begin()), std::make_move_iterator(queue_.end()));
    queue_ = std::move(batch);
    queued_ = queue_.size();
  }

  event_loop& loop_;
  on_notification on_notification_;
  annotated::mutex queue_mutex_;
  std::vector<job> queue_ HOLDFAST_GUARDED_BY(queue_mutex_);
  std::atomic<std::size_t> queued_ = 0;
  annotated::mutex executing_;
  std::vector<store::notification> notifications_ HOLDFAST_GUARDED_BY(executing_);

  std::thread thread_;
  annotated::mutex wake_mutex_;
  annotated::condition_variable wake_;
  std::atomic<bool> wanted_ = false;     // the thread is up, or has been asked for
  std::atomic<std::size_t> driven_ = 0;  // how often callers have driven
  bool stopping_ HOLDFAST_GUARDED_BY(wake_mutex_) = false;
};

template <class Request, class Reply>
typename batching_link<Request, Reply>::progress batching_link<Request, Reply>::run(bool last_try,
                                                                                    bool drives) {
  annotated::lock held{executing_, std::adopt_lock};
  std::vector<job> batch = take_queue();
  if (batch.empty()) return progress::none;
  if (!execute(batch, last_try)) {
    put_back(std::move(batch));
    return progress::blocked;
  }
  const std::vector<store::notification> notifications = std::exchange(notifications_, {});
  held.unlock();
  const core_lock now{loop_, drives};
  for (job& j : batch) j.done(std::move(j.result));
  for (const store::notification& n : notifications) on_notification_(n);
  return progress::some;
}

template <class Request, class Reply>
void batching_link<Request, Reply>::help(store::caller& blocked) {
  while (!blocked.is_served()) {
    if (drive()) continue;
    kick();
    blocked.wait();
  }
  kick();  // for what others sent meanwhile, relying on us
}

template <class Request, class Reply>
bool batching_link<Request, Reply>::drive() {
  // Whoever is at it needs microseconds as a rule: less than it takes to be put to sleep and woken.
  constexpr int patience = 200;
  for (int i = 0; !executing_.try_lock(); ++i) {
    if (i == patience) return false;
    std::this_thread::yield();
  }
  driven_.fetch_add(1, std::memory_order_relaxed);
  return run(false, true) == progress::some;
}

template <class Request, class Reply>
void batching_link<Request, Reply>::kick() {
  if (queued_ == 0 || wanted_.exchange(true)) return;
  {
    const annotated::lock held{wake_mutex_};
  }
  wake_.notify_one();
}

template <class Request, class Reply>
void batching_link<Request, Reply>::work() {
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
template <class Request, class Reply>
bool batching_link<Request, Reply>::sleep() {
  const annotated::lock held{wake_mutex_};
  wanted_ = false;
  if (queued_ != 0) wanted_ = true;  // sent while nobody was asked, because the thread seemed to be up
  while (!wanted_ && !stopping_) wake_.wait(wake_mutex_);
  wanted_ = true;
  return !stopping_ || queued_ != 0;
}

/// False when the thread is to end.
template <class Request, class Reply>
bool batching_link<Request, Reply>::take_nap(std::chrono::microseconds length) {
  const auto end = std::chrono::steady_clock::now() + length;
  const annotated::lock held{wake_mutex_};
  while (!stopping_ && wake_.wait_until(wake_mutex_, end) == std::cv_status::no_timeout) {
  }
  return !stopping_;
}

}  // namespace holdfast::runtime
