#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>

#include "core/caller.hpp"

namespace holdfast::runtime {

/// Who listens to the connection: one thread at a time. A blocked caller that listens itself hears its answer
/// without another thread having to be woken for it, which costs more than a round trip to a server nearby.
/// When it has its answer, the next blocked caller goes on listening; while none is blocked, the link's own
/// thread does.
///
/// That thread keeps out of the way for a while after callers have come and gone, since more of them will
/// come (`rest`), and gives way to the first who comes when it is listening.
class reader_baton {
 public:
  /// \param bell an eventfd that ends whatever wait for descriptors the leader is in.
  explicit reader_baton(int wakeup_fd) : bell_{wakeup_fd} {}

  /// \return whether the caller leads now. If not, it will be called when it may; it has to `retire` in the
  /// end.
  [[nodiscard]] bool take(store::caller& who);
  void leave();
  void retire(store::caller& who);
  /// All of it for a caller, until it is served: it listens when it may, and waits when it may not.
  /// \param can whether there is a connection that a caller can listen to.
  template <class Can, class Listen>
  void serve(store::caller& who, Can can, Listen listen) {
    while (!who.is_served()) {
      if (can() && take(who)) {
        listen();
        leave();
      } else if (!who.is_served()) {
        who.wait();
      }
    }
    retire(who);
  }

  // The link's own thread:
  /// \param urgent also where callers would like to: what has to be done now, they cannot do.
  [[nodiscard]] bool take_in_background(bool urgent = false);
  /// Until no caller has come for a while, or `wake`.
  void rest();
  [[nodiscard]] bool has_to_give_way() const { return give_way_.load(std::memory_order_relaxed); }

  /// Ends a rest. Any thread.
  void wake();
  /// Whether somebody is listening.
  [[nodiscard]] bool is_taken() const { return leader_.load(std::memory_order_relaxed) != leader::nobody; }
  /// Ends the leader's wait for descriptors. Any thread.
  void ring() const;

 private:
  enum class leader : std::uint8_t { nobody, caller, background };

  /// With nobody listening: to the next caller, or to the link's own thread.
  void pass_on();

  const int bell_;
  std::mutex mutex_;
  std::atomic<leader> leader_ = leader::nobody;  // changed under mutex_
  std::deque<store::caller*> others_;            // blocked callers that do not lead
  std::atomic<bool> give_way_ = false;
  std::uint64_t led_ = 0;  // how often callers have
  std::condition_variable rested_;
  bool woken_ = false;
  bool sleeps_deeply_ = false;  // until woken, or all callers have gone: that may take hours
};

}  // namespace holdfast::runtime
