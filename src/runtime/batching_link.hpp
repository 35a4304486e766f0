#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <sys/prctl.h>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

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
  using typename store::link<Request, Reply>::on_notice;

  ~batching_link() override = default;

  void send(Request what, on_reply done) override {
    const std::lock_guard hold{queue_mutex_};
    queue_.push_back({std::move(what), std::move(done), {}});
    queued_ = queue_.size();
  }
  void on_notices(on_notice told) override { told_ = std::move(told); }
  void help(store::caller& who) override;
  bool drive() override;
  void kick() override;
  /// Ends the link's thread. Nothing is delivered afterwards. Idempotent.
  virtual void shut() {
    {
      const std::lock_guard hold{wake_mutex_};
      stopping_ = true;
    }
    wake_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

 protected:
  struct job {
    Request what;
    on_reply done;
    outcome result;
  };
  struct word {
    owner_id owner;
    store::noticed what;
  };

  explicit batching_link(event_loop& owner) : loop_{owner} {}

  /// Carries out all of them, in order, and fills in their results. Called by one thread at a time, without
  /// the core lock.
  /// \return false with nothing done when others keep the store busy. Not on the last try, which fails all
  ///         of them instead.
  virtual bool execute(std::vector<job>& batch, bool last_try) = 0;

  void start() {
    thread_ = quiet_thread([this] { work(); });
  }
  /// For `execute`: words for claims of this client, passed on with the batch's results.
  void say(word w) { words_.push_back(std::move(w)); }
  /// The same from elsewhere; any thread, without the core lock.
  void say_now(const std::vector<word>& words) {
    const core_lock now{loop_};
    for (const word& w : words) told_(w.owner, w.what);
  }
  [[nodiscard]] event_loop& owner() { return loop_; }
  /// Held by whoever executes: for those who need the link at rest.
  [[nodiscard]] std::mutex& executing() { return executing_; }

 private:
  enum class progress : std::uint8_t { none, some, blocked };

  /// One batch. Takes the lock of `executing_` along, and lets go of it before anything is delivered:
  /// others can execute meanwhile.
  progress run(std::unique_lock<std::mutex> hold, bool last_try, bool drives);
  void work();
  bool sleep();
  bool take_nap(std::chrono::microseconds how_long);

  std::vector<job> take_queue() {
    const std::lock_guard hold{queue_mutex_};
    queued_ = 0;
    return std::exchange(queue_, {});
  }
  void put_back(std::vector<job> batch) {
    const std::lock_guard hold{queue_mutex_};
    batch.insert(batch.end(), std::make_move_iterator(queue_.begin()), std::make_move_iterator(queue_.end()));
    queue_ = std::move(batch);
    queued_ = queue_.size();
  }

  event_loop& loop_;
  on_notice told_;
  std::mutex queue_mutex_;
  std::vector<job> queue_;
  std::atomic<std::size_t> queued_ = 0;
  std::mutex executing_;
  std::vector<word> words_;  // under executing_

  std::thread thread_;
  std::mutex wake_mutex_;
  std::condition_variable wake_;
  std::atomic<bool> wanted_ = false;     // the thread is up, or has been asked for
  std::atomic<std::size_t> driven_ = 0;  // how often callers have driven
  bool stopping_ = false;                // under wake_mutex_
};

template <class Request, class Reply>
typename batching_link<Request, Reply>::progress batching_link<Request, Reply>::run(
    std::unique_lock<std::mutex> hold, bool last_try, bool drives) {
  std::vector<job> batch = take_queue();
  if (batch.empty()) return progress::none;
  if (!execute(batch, last_try)) {
    put_back(std::move(batch));
    return progress::blocked;
  }
  const std::vector<word> words = std::exchange(words_, {});
  hold.unlock();
  const core_lock now{loop_, drives};
  for (job& j : batch) j.done(std::move(j.result));
  for (const word& w : words) told_(w.owner, w.what);
  return progress::some;
}

template <class Request, class Reply>
void batching_link<Request, Reply>::help(store::caller& who) {
  while (!who.is_served()) {
    if (drive()) continue;
    kick();
    who.wait();
  }
  kick();  // for what others sent meanwhile, relying on us
}

template <class Request, class Reply>
bool batching_link<Request, Reply>::drive() {
  // Whoever is at it needs microseconds as a rule: less than it takes to be put to sleep and woken.
  constexpr int patience = 200;
  std::unique_lock<std::mutex> hold{executing_, std::defer_lock};
  for (int i = 0; !hold.try_lock(); ++i) {
    if (i == patience) return false;
    std::this_thread::yield();
  }
  driven_.fetch_add(1, std::memory_order_relaxed);
  return run(std::move(hold), false, true) == progress::some;
}

template <class Request, class Reply>
void batching_link<Request, Reply>::kick() {
  if (queued_ == 0 || wanted_.exchange(true)) return;
  {
    const std::lock_guard hold{wake_mutex_};
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
        switch (run(std::unique_lock{executing_}, last_try, false)) {
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
  std::unique_lock<std::mutex> hold{wake_mutex_};
  wanted_ = false;
  if (queued_ != 0) wanted_ = true;  // sent while nobody was asked, because the thread seemed to be up
  wake_.wait(hold, [this] { return wanted_ || stopping_; });
  wanted_ = true;
  return !stopping_ || queued_ != 0;
}

/// False when the thread is to end.
template <class Request, class Reply>
bool batching_link<Request, Reply>::take_nap(std::chrono::microseconds how_long) {
  std::unique_lock<std::mutex> hold{wake_mutex_};
  return !wake_.wait_for(hold, how_long, [this] { return stopping_; });
}

}  // namespace holdfast::runtime
