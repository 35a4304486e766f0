#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/annotated_mutex.hpp"
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
/// Whoever sends writes to the socket itself; one thread at a time listens (see runtime::reader_baton). While
/// there is no connection only the link's own thread does, which also looks up names and begins sessions, so
/// that nobody else is ever held up by that.
class link final : public tickets::link, private wire {
 public:
  /// Begins to connect.
  link(runtime::event_loop& on, settings s);
  ~link() override;
  link(const link&) = delete;
  link& operator=(const link&) = delete;

  void send(tickets::request request, on_reply handler) override;
  void on_notifications(on_notification handler) override;
  std::shared_ptr<void> watch(std::function<void()> changed) override;
  [[nodiscard]] std::optional<store::time_point> session_until() const override;
  void on_session(const std::function<void()>& extended) override;
  void help(store::caller& caller) override;
  bool drive() override;
  void kick() override;
  /// Ends the session and the link's thread. Nothing is delivered afterwards. Idempotent.
  void shut();

 private:
  using clock = std::chrono::steady_clock;
  struct job {
    operation step;
    on_result handler;
  };

  void submit(operation step, on_result handler) override;

  // Any thread, without the core lock:
  void flush();
  void deliver();
  void pass_on(handle::news& news) HOLDFAST_REQUIRES(loop_);
  void end_session() HOLDFAST_REQUIRES(loop_);

  // The leader:
  void listen(store::caller* caller);
  void wait_for_bytes(store::caller* caller);

  // The link's own thread:
  void work();
  [[nodiscard]] bool has_handle();
  void open();
  [[nodiscard]] name_lookup::outcome look_up();
  void no_session(const failure& reason);
  void stay_or_give_up();
  void fail_queue();
  void pause(std::chrono::milliseconds length);

  [[nodiscard]] std::vector<job> take_queue();

  runtime::event_loop& loop_;
  const settings settings_;
  session session_ HOLDFAST_GUARDED_BY(loop_);
  runtime::watchers watchers_;
  std::size_t watches_ HOLDFAST_GUARDED_BY(loop_) = 0;

  annotated::mutex queue_mutex_;
  std::vector<job> queue_ HOLDFAST_GUARDED_BY(queue_mutex_);
  std::atomic<std::size_t> queued_ = 0;
  std::atomic<bool> urgent_ = false;  // something else than a removal was sent since somebody last listened

  annotated::mutex news_mutex_;  // locked while news is delivered, so that it stays in order
  annotated::mutex handle_mutex_;
  /// Replaced by the link's own thread only, while nobody else may listen.
  std::unique_ptr<handle> handle_ HOLDFAST_GUARDED_BY(handle_mutex_);
  std::atomic<bool> connected_ = false;
  std::atomic<bool> over_ = false;  // the handle is of no use any more
  /// Why there is no connection, once that is known.
  std::optional<failure> down_ HOLDFAST_GUARDED_BY(handle_mutex_);
  /// Of the session, as the servers have it; zero: there was none yet.
  std::chrono::milliseconds timeout_ HOLDFAST_GUARDED_BY(handle_mutex_){};
  clock::time_point lost_ HOLDFAST_GUARDED_BY(handle_mutex_);  // since when there has been no connection
  clock::time_point resolved_;                                 // the link's own thread's
  std::shared_ptr<name_lookup> lookup_ HOLDFAST_GUARDED_BY(pause_mutex_);
  std::minstd_rand chance_{
      std::random_device{}()};  // the leader's, with no connection: the link's own thread

  runtime::wakeup_fd bell_;
  runtime::reader_baton baton_{bell_.descriptor()};
  std::atomic<bool> stopping_ = false;
  annotated::mutex pause_mutex_;
  annotated::condition_variable paused_;
  std::thread thread_;
};

}  // namespace holdfast::zookeeper
