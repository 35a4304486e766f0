// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

// What clang checks with -Wthread-safety: which member belongs to which mutex, and which function is called
// with it locked. Other compilers ignore the annotations.
// https://clang.llvm.org/docs/ThreadSafetyAnalysis.html
#if defined(__clang__)
#define HOLDFAST_ANNOTATION(x) __attribute__((x))
#else
#define HOLDFAST_ANNOTATION(x)
#endif

/// A class whose objects can be locked.
#define HOLDFAST_CAPABILITY(name) HOLDFAST_ANNOTATION(capability(name))
/// A class whose objects lock from construction to destruction.
#define HOLDFAST_SCOPED_CAPABILITY HOLDFAST_ANNOTATION(scoped_lockable)
/// A member that is read and written with `mutex` locked.
#define HOLDFAST_GUARDED_BY(mutex) HOLDFAST_ANNOTATION(guarded_by(mutex))
/// A member that points to what is read and written with `mutex` locked.
#define HOLDFAST_PT_GUARDED_BY(mutex) HOLDFAST_ANNOTATION(pt_guarded_by(mutex))
/// A function that is called with the mutex locked, and leaves it so.
#define HOLDFAST_REQUIRES(...) HOLDFAST_ANNOTATION(requires_capability(__VA_ARGS__))
/// A function that is called without the mutex, because it locks it itself.
#define HOLDFAST_EXCLUDES(...) HOLDFAST_ANNOTATION(locks_excluded(__VA_ARGS__))
#define HOLDFAST_ACQUIRE(...) HOLDFAST_ANNOTATION(acquire_capability(__VA_ARGS__))
#define HOLDFAST_TRY_ACQUIRE(...) HOLDFAST_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define HOLDFAST_RELEASE(...) HOLDFAST_ANNOTATION(release_capability(__VA_ARGS__))
/// A function that returns a reference to the mutex.
#define HOLDFAST_RETURN_CAPABILITY(mutex) HOLDFAST_ANNOTATION(lock_returned(mutex))
/// A function that checks at run time that the mutex is locked.
#define HOLDFAST_ASSERT_CAPABILITY(mutex) HOLDFAST_ANNOTATION(assert_capability(mutex))
/// A function whose locking the analysis cannot follow; a comment beside it says why it is right.
#define HOLDFAST_NO_THREAD_SAFETY_ANALYSIS HOLDFAST_ANNOTATION(no_thread_safety_analysis)

namespace holdfast::annotated {

/// std::mutex, known to the analysis.
class HOLDFAST_CAPABILITY("mutex") mutex {
 public:
  void lock() HOLDFAST_ACQUIRE() { mutex_.lock(); }
  [[nodiscard]] bool try_lock() HOLDFAST_TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  void unlock() HOLDFAST_RELEASE() { mutex_.unlock(); }
  /// For functions of an object that locks it as long as it lives. Checks nothing at run time.
  void assert_locked() const HOLDFAST_ASSERT_CAPABILITY(this) {}

 private:
  friend class condition_variable;
  std::mutex mutex_;
};

/// std::recursive_mutex, known to the analysis, which takes it for an ordinary one.
class HOLDFAST_CAPABILITY("mutex") recursive_mutex {
 public:
  void lock() HOLDFAST_ACQUIRE() { mutex_.lock(); }
  void unlock() HOLDFAST_RELEASE() { mutex_.unlock(); }

 private:
  std::recursive_mutex mutex_;
};

/// std::unique_lock of a `mutex`, known to the analysis.
class HOLDFAST_SCOPED_CAPABILITY lock {
 public:
  explicit lock(mutex& of) HOLDFAST_ACQUIRE(of) : mutex_{of} { mutex_.lock(); }
  /// Of a mutex that the caller has locked.
  lock(mutex& of, std::adopt_lock_t /*locked*/) HOLDFAST_REQUIRES(of) : mutex_{of} {}
  ~lock() HOLDFAST_RELEASE() {
    if (locked_) mutex_.unlock();
  }
  lock(const lock&) = delete;
  lock& operator=(const lock&) = delete;

  /// Before the end of the scope.
  void unlock() HOLDFAST_RELEASE() {
    locked_ = false;
    mutex_.unlock();
  }
  void relock() HOLDFAST_ACQUIRE() {
    mutex_.lock();
    locked_ = true;
  }

 private:
  mutex& mutex_;
  bool locked_ = true;
};

/// std::lock_guard of a `recursive_mutex`, known to the analysis.
class HOLDFAST_SCOPED_CAPABILITY recursive_lock {
 public:
  explicit recursive_lock(recursive_mutex& of) HOLDFAST_ACQUIRE(of) : mutex_{of} { mutex_.lock(); }
  ~recursive_lock() HOLDFAST_RELEASE() { mutex_.unlock(); }
  recursive_lock(const recursive_lock&) = delete;
  recursive_lock& operator=(const recursive_lock&) = delete;

 private:
  recursive_mutex& mutex_;
};

/// std::condition_variable, whose waits are given the mutex, as absl::CondVar's. No form takes a predicate:
/// the analysis does not know in a lambda that the mutex is locked. Callers wait in a loop.
class condition_variable {
 public:
  void wait(mutex& locked) HOLDFAST_REQUIRES(locked) {
    adopted held{locked};
    condition_.wait(held.lock);
  }
  template <class Rep, class Period>
  std::cv_status wait_for(mutex& locked, const std::chrono::duration<Rep, Period>& limit)
      HOLDFAST_REQUIRES(locked) {
    adopted held{locked};
    return condition_.wait_for(held.lock, limit);
  }
  template <class Clock, class Duration>
  std::cv_status wait_until(mutex& locked, const std::chrono::time_point<Clock, Duration>& limit)
      HOLDFAST_REQUIRES(locked) {
    adopted held{locked};
    return condition_.wait_until(held.lock, limit);
  }
  void notify_one() noexcept { condition_.notify_one(); }
  void notify_all() noexcept { condition_.notify_all(); }

 private:
  /// The caller's lock, for the time of a wait.
  struct adopted {
    explicit adopted(mutex& locked) : lock{locked.mutex_, std::adopt_lock} {}
    ~adopted() { lock.release(); }
    adopted(const adopted&) = delete;
    adopted& operator=(const adopted&) = delete;
    std::unique_lock<std::mutex> lock;
  };
  std::condition_variable condition_;
};

}  // namespace holdfast::annotated
