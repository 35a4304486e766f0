// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>

#include "c/guard.hpp"
#include "c/wakeup.hpp"
#include "core/caller.hpp"
#include "holdfast/detail/handle.hpp"

namespace holdfast::c {

/// The ends of started operations. The queue and each of its operations have it, so that it outlives a queue
/// that is freed. Any thread.
class ends {
 public:
  /// \throws holdfast::error errc::exhausted.
  explicit ends(duration patience) : patience_{patience}, is_filled_{0} {}
  ~ends();
  ends(const ends&) = delete;
  ends& operator=(const ends&) = delete;

  /// How long a thread that starts an operation waits for its end.
  [[nodiscard]] duration patience() const noexcept { return patience_; }
  [[nodiscard]] int fd() const noexcept { return is_filled_.fd(); }
  void add(const holdfast_completion& end);
  /// \return whether there was one.
  bool take(holdfast_completion& oldest);
  /// Nobody will take them: they are freed, also those that come later.
  void close() noexcept;

 private:
  const duration patience_;
  std::mutex mutex_;
  event_descriptor is_filled_;
  std::deque<holdfast_completion> all_;
  bool is_closed_ = false;
};

/// A started operation, until its end is in the queue.
class started {
 public:
  started(std::shared_ptr<ends> to, std::uint64_t tag) : to_{std::move(to)}, tag_{tag} {}

  void end(std::error_code code, const std::string& detail);
  void end(holdfast_lease* granted) { end({tag_, HOLDFAST_OK, nullptr, granted}); }
  /// After the start: this thread performs I/O for as long as the queue says, or has others perform it.
  void go_on(detail::client_core& from);

 private:
  void end(const holdfast_completion& last);

  const std::shared_ptr<ends> to_;
  const std::uint64_t tag_;
  store::caller starter_;  // the thread in `go_on`
};

/// Cancels an operation when a stop is requested, which may come before the operation has a number. The one
/// who starts the operation and the operation share it.
class cancelling : public std::enable_shared_from_this<cancelling> {
 public:
  /// Once, by whoever shares it already: a request may come before this returns.
  void listen_to(const std::stop_token& stop) {
    stopped_.emplace(stop, [this] { request(); });
  }
  void begin(detail::pending operation) {
    bool is_late = false;
    {
      const std::lock_guard held{mutex_};
      operation_ = operation;
      is_late = is_requested_;
    }
    if (is_late) operation.cancel();
  }

 private:
  void request() {
    // To cancel may end the client, which waits for its threads. One of them may let go of this object: if it
    // were the last to do so, it would wait for the end of this call.
    const auto self = weak_from_this().lock();
    detail::pending operation;
    {
      const std::lock_guard held{mutex_};
      is_requested_ = true;
      operation = operation_;
    }
    if (self) operation.cancel();
  }

  std::mutex mutex_;
  bool is_requested_ = false;
  detail::pending operation_;
  std::optional<std::stop_callback<std::function<void()>>> stopped_;  // last: it uses the others
};

}  // namespace holdfast::c

struct holdfast_queue : holdfast::c::owned {
  explicit holdfast_queue(holdfast::duration patience) : all{std::make_shared<holdfast::c::ends>(patience)} {}

  const std::shared_ptr<holdfast::c::ends> all;
};
