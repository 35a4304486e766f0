// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/annotated_mutex.hpp"
#include "core/journal.hpp"
#include "runtime/event_loop.hpp"
#include "runtime/reader_baton.hpp"
#include "runtime/wakeup_fd.hpp"
#include "runtime/watchers.hpp"
#include "stores/zookeeper/link/handle.hpp"
#include "stores/zookeeper/link/names.hpp"
#include "stores/zookeeper/link/settings.hpp"
#include "stores/zookeeper/protocol/session.hpp"

namespace holdfast::zookeeper {

/// Carries a session's operations to a ZooKeeper ensemble.
///
/// A thread that sends writes to the socket itself. One thread at a time reads (see runtime::reader_baton).
/// Without a connection, the link's own thread looks up names and begins sessions, so that no other thread is
/// delayed by that.
class link final : public tickets::link, private wire {
 public:
  /// Begins to connect.
  link(runtime::event_loop& on, settings s);
  ~link() override;
  link(const link&) = delete;
  link& operator=(const link&) = delete;

  void send(tickets::request request, on_reply handler) override;
  void take_back(std::uint64_t request) override;
  void on_notifications(on_notification handler) override;
  std::shared_ptr<void> watch(store::watched target, std::function<void()> changed) override;
  [[nodiscard]] std::optional<store::time_point> session_until() const override;
  void on_session(const std::function<void()>& extended) override;
  void when_delivered(std::function<void()> action) override;
  void help(store::caller& caller) override;
  bool drive() override;
  void kick() override;
  /// Ends the session and the link's thread. Nothing is delivered afterwards. Idempotent.
  void shut() override;

 private:
  using clock = std::chrono::steady_clock;
  struct job {
    operation step;
    on_result handler;
  };

  void submit(operation step, on_result handler) override;
  void track(const store::watched& target, bool on);

  // Any thread, without the core lock:
  void flush();
  void deliver();
  void pass_on(handle::news& news) HOLDFAST_REQUIRES(loop_);
  void report_disconnected(const std::string& reason) HOLDFAST_REQUIRES(loop_);
  void report(events::counter which, event_kind kind, const failure& reason) noexcept;
  void end_session() HOLDFAST_REQUIRES(loop_);
  static void answer_unsent(const std::vector<job>& jobs, const failure& reason);

  // The reader:
  void listen(store::caller* caller);
  void wait_for_bytes(store::caller* caller);

  // The link's own thread:
  void work();
  [[nodiscard]] bool is_connected() const { return state_ == state::connected; }
  [[nodiscard]] bool is_over() const { return state_ == state::over; }
  void open();
  [[nodiscard]] name_lookup::outcome look_up();
  void no_session(const failure& reason);
  void stay_or_give_up();
  void fail_queue();
  [[nodiscard]] failure reason_to_wait();
  void pause(std::chrono::milliseconds length);

  [[nodiscard]] std::vector<job> take_queue();

  runtime::event_loop& loop_;
  /// A connection that has not been told to have ended.
  bool reported_ HOLDFAST_GUARDED_BY(loop_) = false;
  const settings settings_;
  session session_ HOLDFAST_GUARDED_BY(loop_);
  std::uint64_t sending_ HOLDFAST_GUARDED_BY(loop_) = 0;  // the request that is being sent; zero: none
  runtime::watchers watchers_;

  annotated::mutex queue_mutex_;
  std::vector<job> queue_ HOLDFAST_GUARDED_BY(queue_mutex_);
  std::atomic<std::size_t> queued_ = 0;
  std::atomic<bool> urgent_ = false;  // a request other than a removal was sent since the last read

  annotated::mutex news_mutex_;  // locked while news are delivered, so that they stay in order
  annotated::mutex handle_mutex_;
  /// Replaced by the link's own thread only, while no other thread may read.
  std::unique_ptr<handle> handle_ HOLDFAST_GUARDED_BY(handle_mutex_);
  enum class state : std::uint8_t {
    connecting,
    connected,
    over  // there is no handle that can be used
  };
  std::atomic<state> state_ = state::over;
  /// The reason why there is no connection, once it is known.
  std::optional<failure> down_ HOLDFAST_GUARDED_BY(handle_mutex_);
  /// The timeout of the session, as the servers set it; zero: there was no session yet.
  std::chrono::milliseconds timeout_ HOLDFAST_GUARDED_BY(handle_mutex_){};
  clock::time_point lost_ HOLDFAST_GUARDED_BY(handle_mutex_);  // since when there has been no connection
  clock::time_point resolved_;                                 // the link's own thread's
  std::shared_ptr<name_lookup> lookup_ HOLDFAST_GUARDED_BY(pause_mutex_);
  std::minstd_rand chance_{
      std::random_device{}()};  // used by the reader; without a connection, by the link's own thread

  runtime::wakeup_fd wakeup_;
  runtime::reader_baton baton_{wakeup_.descriptor()};
  std::atomic<bool> stopping_ = false;
  annotated::mutex pause_mutex_;
  annotated::condition_variable paused_;
  std::thread thread_;
};

}  // namespace holdfast::zookeeper
