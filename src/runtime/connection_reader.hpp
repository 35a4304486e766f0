// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <poll.h>
#include <thread>
#include <vector>

#include "base/annotated_mutex.hpp"
#include "core/caller.hpp"
#include "runtime/reader_baton.hpp"
#include "runtime/wakeup_fd.hpp"

namespace holdfast::runtime {

/// A connection, as a connection_reader uses it.
///
/// A connection that breaks fails its own requests, and tells the reader
/// (`connection_reader::on_disconnected`). If memory runs out, the process ends.
class readable_connection {
 public:
  /// What a connection waits for.
  struct interest {
    int descriptor = -1;  // negative: for none, since it is not connected
    short events = 0;     // as poll's
    /// After which it has to be asked again.
    std::chrono::steady_clock::duration patience = std::chrono::hours{1};
  };

  readable_connection(const readable_connection&) = delete;
  readable_connection& operator=(const readable_connection&) = delete;

  // A thread of the connection_reader, one at a time:
  /// Tries to connect: blocks until it is connected, or `stop_connecting` is called. It may return after a
  /// try that failed, where others have to be connected as well
  /// (`connection_reader::has_more_to_connect`). It is called again.
  virtual void connect() noexcept = 0;

  // Any thread:
  /// From now on `connect` returns soon.
  virtual void stop_connecting() = 0;
  [[nodiscard]] virtual bool is_connected() const = 0;

  // The thread that reads:
  /// Before each wait: sends what is queued, and handles what is received already.
  virtual void prepare() noexcept = 0;
  /// Checks the connection's health. \return what to wait for.
  [[nodiscard]] virtual interest check() noexcept = 0;
  /// \param ready the events that have come.
  virtual void read(short ready) noexcept = 0;

 protected:
  readable_connection() = default;
  ~readable_connection() = default;
};

/// Counts a request whose reply somebody waits for, as long as it exists; empty: it counts none.
struct end_of_count {
  void operator()(std::atomic<std::size_t>* of) const { --*of; }
};
using awaited_reply = std::unique_ptr<std::atomic<std::size_t>, end_of_count>;

/// Reads the connections of a client: a reactor, run by one thread at a time, which waits for all connections
/// at once and gives each that is ready its turn. A blocked caller reads if there is one, a background thread
/// otherwise (see reader_baton).
///
/// Threads. While all connections are connected there is one background thread, for any number of them.
/// Connecting blocks. The background thread connects by itself where there is nothing to read meanwhile, as
/// with a single connection. Otherwise it adds a thread that takes its place, and one of the two ends after
/// that. So a server that cannot be reached holds up no other. There are never more threads than one, plus
/// one for each connection that is not connected, up to `most_connecting`: where more cannot be connected,
/// they take turns, and new ones come first. If the system has no room for another thread, blocked callers
/// alone read meanwhile.
///
/// Connections may be added and removed at any time. A connection that breaks is connected again.
class connection_reader {
 public:
  static constexpr std::size_t most_connecting = 16;  // threads that connect

  connection_reader() = default;
  ~connection_reader() { stop(); }
  connection_reader(const connection_reader&) = delete;
  connection_reader& operator=(const connection_reader&) = delete;

  /// Begins to connect it. Any thread. \throws holdfast::error errc::exhausted: then it was not added.
  void add(readable_connection& connection);
  /// Returns when no thread uses the connection any more: it may be destroyed. Any thread without the core
  /// lock, but not within a function of this connection. Idempotent.
  void remove(readable_connection& connection) noexcept;
  /// Ends the threads. Nothing is read afterwards. Not to be called by one of them. Idempotent.
  void stop();

  /// Until the caller is served: it reads when it may, and waits when it may not. What it waits for has been
  /// sent. If it is dismissed, the background thread reads at once.
  void serve(store::caller& caller);
  /// A request is to be queued whose reply somebody waits for: a thread should read until that is here.
  [[nodiscard]] awaited_reply expect_reply() {
    ++awaited_;
    return awaited_reply{&awaited_};
  }
  /// Wakes the background thread if there is need for it, and nobody reads.
  /// \param is_needed also if no reply is awaited: there are requests to send, or notifications to hear.
  void ensure_reading(bool is_needed) {
    if ((is_needed || is_awaited()) && !baton_.is_taken()) baton_.wake();
  }
  /// Whether somebody waits for a reply that is not here yet.
  [[nodiscard]] bool is_awaited() const { return awaited_ != 0; }
  /// Whether connections wait for a thread that connects them.
  [[nodiscard]] bool has_more_to_connect() const { return count(state::to_connect) != 0; }
  /// Whether a thread reads now.
  [[nodiscard]] bool is_reading() const { return baton_.is_taken(); }
  /// Makes the thread that reads check all connections. Any thread.
  void interrupt() const { wakeup_.ring(); }
  /// The connection is not connected any more. The thread that reads.
  void on_disconnected(readable_connection& connection) noexcept;

 private:
  enum class state : std::uint8_t { to_connect, connecting, connected, removed };
  struct member {
    readable_connection* connection = nullptr;
    state now = state::to_connect;
    bool is_leaving = false;  // to be removed as soon as no thread connects it
    store::caller removal;    // served when the thread that reads has forgotten it
  };
  using members = std::list<member>;

  // The background threads:
  void work() noexcept;
  void connect(member& next) HOLDFAST_REQUIRES(mutex_);
  void read_in_background() HOLDFAST_REQUIRES(mutex_);
  void add_thread() HOLDFAST_REQUIRES(mutex_);
  void join_ended() HOLDFAST_REQUIRES(mutex_);

  // The thread that reads. Null instead of a caller: the background thread.
  void read_until_served(store::caller* caller) noexcept;
  [[nodiscard]] bool has_to_return(const store::caller* caller) const {
    if (caller != nullptr) return caller->is_served();
    return baton_.has_to_give_way() || may_connect();
  }
  /// Whether there is something to connect, and a thread may do so.
  [[nodiscard]] bool may_connect() const {
    return has_more_to_connect() && count(state::connecting) < most_connecting;
  }
  void refresh();
  void wait_for_bytes(store::caller* caller) HOLDFAST_REQUIRES(baton_);

  [[nodiscard]] members::iterator find(const readable_connection& connection) HOLDFAST_REQUIRES(mutex_);
  void change(member& m, state next) HOLDFAST_REQUIRES(mutex_);
  [[nodiscard]] std::size_t count(state of) const { return counts_[static_cast<std::size_t>(of)]; }
  void wake_background();

  wakeup_fd wakeup_;  // ends the wait of the thread that reads
  reader_baton baton_{wakeup_.descriptor()};
  std::atomic<std::size_t> awaited_ = 0;  // replies
  std::atomic<bool> stopping_ = false;    // changed with mutex_ locked

  annotated::mutex mutex_;
  annotated::condition_variable changed_;
  members members_ HOLDFAST_GUARDED_BY(mutex_);
  std::array<std::atomic<std::size_t>, 4> counts_{};  // of members in each state; changed with mutex_ locked
  bool has_background_ HOLDFAST_GUARDED_BY(mutex_) = false;  // a thread reads when no caller does
  std::list<std::thread> threads_ HOLDFAST_GUARDED_BY(mutex_);
  std::list<std::thread> ended_ HOLDFAST_GUARDED_BY(mutex_);

  // What the thread that reads uses:
  std::atomic<bool> members_changed_ = false;  // and `connections_` have not
  std::vector<readable_connection*> connections_ HOLDFAST_GUARDED_BY(baton_);
  std::vector<pollfd> descriptors_ HOLDFAST_GUARDED_BY(baton_);  // the first is the wakeup_fd's
  std::atomic<std::thread::id> reading_thread_;
};

}  // namespace holdfast::runtime
