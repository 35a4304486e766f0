#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "core/link.hpp"
#include "runtime/connection_reader.hpp"
#include "runtime/event_loop.hpp"
#include "runtime/multiplexed_connection.hpp"
#include "runtime/watchers.hpp"

namespace holdfast::runtime {

/// A link whose requests share a multiplexed connection. It passes notifications on, and keeps the watchers.
///
/// The most derived class calls `connection().start()` at the end of its constructor, and `shut` at the
/// beginning of its destructor.
template <class Request, class Reply, class Wire>
class multiplexed_link : public store::link<Request, Reply>,
                         protected multiplexed_connection<Wire>::protocol {
  using base = store::link<Request, Reply>;

 public:
  void on_notifications(typename base::on_notification handler) override {
    on_notification_ = std::move(handler);
  }
  void on_gap(const std::function<void()>& handler) override { on_gap_ = handler; }
  std::shared_ptr<void> watch(std::function<void()> changed) override;
  void help(store::caller& caller) override { connection_.help(caller); }
  bool drive() override {
    connection_.flush();
    return false;
  }
  void kick() override { connection_.kick(); }
  /// Ends the link's threads. Nothing is delivered afterwards. Idempotent.
  virtual void shut() {
    connection_.stop();
    reader_.stop();
  }

 protected:
  using notifications = std::vector<store::notification>;

  multiplexed_link(event_loop& loop, connection_settings settings)
      : loop_{loop}, watchers_{loop}, connection_{loop, reader_, *this, std::move(settings)} {}

  /// Under the core lock: from now on there are watchers, or none any more.
  virtual void track(bool on) = 0;
  /// A derived class that overrides it calls it last.
  void on_connected() override;

  [[nodiscard]] multiplexed_connection<Wire>& connection() { return connection_; }
  [[nodiscard]] const multiplexed_connection<Wire>& connection() const { return connection_; }
  [[nodiscard]] event_loop& loop() const { return loop_; }
  /// For further connections of the link.
  [[nodiscard]] connection_reader& reader() { return reader_; }

  /// Runs the handlers of completed requests, and passes notifications on. The reader.
  void deliver(const notifications& received);
  /// Passes notifications on. Any thread, without the core lock.
  void deliver_notifications(const notifications& received);
  /// The same under the core lock.
  void pass_on(const notifications& received) const {
    for (const store::notification& each : received) on_notification_(each);
  }
  void ring_watchers() { watchers_.ring(); }
  /// Whether there are watchers.
  [[nodiscard]] bool is_tracked() const { return tracked_; }

 private:
  event_loop& loop_;
  typename base::on_notification on_notification_;
  std::function<void()> on_gap_;
  watchers watchers_;
  std::size_t watches_ = 0;  // under the core lock
  std::atomic<bool> tracked_ = false;
  bool was_connected_ = false;  // the connecting thread's
  connection_reader reader_;
  multiplexed_connection<Wire> connection_;
};

template <class Request, class Reply, class Wire>
std::shared_ptr<void> multiplexed_link<Request, Reply, Wire>::watch(std::function<void()> changed) {
  if (watches_++ == 0) {
    tracked_ = true;
    track(true);
  }
  return {this, [this, inner = watchers_.add(std::move(changed))](void*) mutable {
            inner.reset();
            const core_lock now{loop_};
            if (--watches_ != 0) return;
            tracked_ = false;
            track(false);
          }};
}

/// The server does not repeat the notifications of the time without a connection.
template <class Request, class Reply, class Wire>
void multiplexed_link<Request, Reply, Wire>::on_connected() {
  if (std::exchange(was_connected_, true)) {
    const core_lock now{loop_};
    if (on_gap_) on_gap_();
  }
  if (tracked_) watchers_.ring();
}

template <class Request, class Reply, class Wire>
void multiplexed_link<Request, Reply, Wire>::deliver(const notifications& received) {
  if (connection_.completed().empty() && received.empty()) return;
  {
    const core_lock now{loop_, true};
    connection_.run_handlers();
    pass_on(received);
  }
  connection_.forget_completed();
}

template <class Request, class Reply, class Wire>
void multiplexed_link<Request, Reply, Wire>::deliver_notifications(const notifications& received) {
  if (received.empty()) return;
  // With a kick: this thread need not drive the connection, and notifications may cause requests.
  const core_lock now{loop_};
  pass_on(received);
}

}  // namespace holdfast::runtime
