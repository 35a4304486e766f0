#pragma once

#include <utility>

#include "runtime/event_loop.hpp"
#include "runtime/multiplexed_connection.hpp"
#include "runtime/notifying_link.hpp"

namespace holdfast::runtime {

/// A link whose requests share a multiplexed connection.
///
/// The most derived class calls `connection().start()` at the end of its constructor, and `shut` at the
/// beginning of its destructor.
template <class Request, class Reply, class Wire>
class multiplexed_link : public notifying_link<Request, Reply>,
                         protected multiplexed_connection<Wire>::protocol {
  using base = notifying_link<Request, Reply>;

 public:
  void help(store::caller& caller) override { connection_.help(caller); }
  bool drive() override {
    connection_.flush();
    return false;
  }
  void kick() override { connection_.kick(); }
  /// Ends the link's threads. Nothing is delivered afterwards. Idempotent.
  virtual void shut() {
    connection_.stop();
    base::reader().stop();
  }

 protected:
  using typename base::notifications;

  multiplexed_link(event_loop& loop, connection_settings settings)
      : base{loop}, connection_{loop, base::reader(), *this, std::move(settings)} {}

  /// A derived class that overrides it calls it last.
  void on_connected() override;

  [[nodiscard]] multiplexed_connection<Wire>& connection() { return connection_; }
  [[nodiscard]] const multiplexed_connection<Wire>& connection() const { return connection_; }

  /// Runs the handlers of completed requests, and passes notifications on. The reader.
  void deliver(const notifications& received);

 private:
  bool was_connected_ = false;  // the connecting thread's
  multiplexed_connection<Wire> connection_;
};

/// The server does not repeat the notifications of the time without a connection.
template <class Request, class Reply, class Wire>
void multiplexed_link<Request, Reply, Wire>::on_connected() {
  if (std::exchange(was_connected_, true)) {
    const core_lock now{base::loop()};
    base::report_gap();
  }
  base::ring_watchers();
}

template <class Request, class Reply, class Wire>
void multiplexed_link<Request, Reply, Wire>::deliver(const notifications& received) {
  if (connection_.completed().empty() && received.empty()) return;
  {
    const core_lock now{base::loop(), true};
    connection_.run_handlers();
    base::pass_on(received);
  }
  connection_.forget_completed();
}

}  // namespace holdfast::runtime
