#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/owner_id.hpp"
#include "core/backoff.hpp"
#include "core/link.hpp"
#include "runtime/event_loop.hpp"
#include "runtime/io_deadline.hpp"
#include "runtime/reader_baton.hpp"
#include "runtime/wakeup_fd.hpp"
#include "runtime/watchers.hpp"

namespace holdfast::runtime {

/// One connection to a server for all jobs of a client, whatever is spoken on it.
///
/// Whoever has a job begins it on the wire; one thread at a time reads (see reader_baton), the leader. A
/// connection that breaks, or is silent while it owes an answer, is made anew with backoff; what it owed may
/// have been carried out. What had not been sent waits for the next connection, and fails when that cannot be
/// had.
///
/// A job is in the queue, owed, or answered, from when it is sent until it has been told. So whatever throws
/// on the way, the job is still somewhere, and hears of it when the line hangs up.
///
/// The line's own thread calls the functions that a derived class overrides: the most derived one calls
/// `begin` at the end of its constructor, and `shut` at the beginning of its destructor.
class multiplexed_connection {
 public:
  multiplexed_connection(const multiplexed_connection&) = delete;
  multiplexed_connection& operator=(const multiplexed_connection&) = delete;

 protected:
  using clock = std::chrono::steady_clock;
  using words = std::vector<std::pair<owner_id, store::noticed>>;

  struct terms {
    std::string place;                         // as errors name the server
    std::chrono::milliseconds answer_limit{};  // a server that owes an answer for longer is taken for gone
    std::chrono::milliseconds quiet_limit{};   // after so long without a word it is asked whether it lives
    /// With more answers due than that, what is sent next can wait for the first of them, and travel
    /// together.
    std::size_t many = std::numeric_limits<std::size_t>::max();
  };

  /// Something to be said to the server, and its answer.
  class job {
   public:
    job() = default;
    job(const job&) = delete;
    job& operator=(const job&) = delete;
    virtual ~job() = default;

    /// There will be no answer. Where there is one already, that stays.
    virtual void fail(const store::trouble& why) = 0;
    /// Under the core lock: passes the answer on, the first time.
    virtual void tell() = 0;
  };
  using job_ptr = std::unique_ptr<job>;

  /// A job for somebody who wants to hear of it, or, with `done` null, for nobody.
  template <class Outcome>
  class job_for : public job {
   public:
    std::function<void(Outcome)> done;
    std::optional<Outcome> result;

    void fail(const store::trouble& why) override {
      if (done && !result) result = why;
    }
    void tell() override {
      if (!done) return;
      Outcome& told = result.value();  // \throws where it was forgotten: then it fails when the line hangs up
      std::exchange(done, nullptr)(std::move(told));
    }
  };

  multiplexed_connection(event_loop& on, terms t);
  ~multiplexed_connection() = default;  // of a derived class
  /// Begins to connect.
  void begin();
  /// See link.
  void on_notices(std::function<void(const owner_id&, store::noticed)> told) { told_ = std::move(told); }
  void on_gap(const std::function<void()>& missed) { missed_ = missed; }
  [[nodiscard]] std::shared_ptr<void> watch(std::function<void()> changed);
  void help(store::caller& who);
  void kick();
  void flush();
  /// Ends the line's thread. Nothing is delivered afterwards. Idempotent.
  void shut();

  // What a derived class adds.

  /// Connects, and calls `use`. The line's own thread; blocks.
  /// \param stop an eventfd: gives up as soon as it can be read.
  /// \throws connection_error.
  virtual void reconnect(int stop) = 0;
  /// Before anybody waits for what comes on a new connection: something may have come already. The leader's.
  virtual void begin_to_hear() {}
  /// The connection can be read or written. The leader's: `take_first` what is answered, then `deliver`.
  /// \param ready poll's events. \throws connection_error.
  virtual void hear(short ready) = 0;
  /// What asks a server whether it lives.
  [[nodiscard]] virtual job_ptr ping() const = 0;
  /// Under the core lock: from now on there are watchers, or none any more.
  virtual void track(bool on) = 0;

  // Likewise, with wire_mutex_ held, and a connection:
  [[nodiscard]] virtual int descriptor() const = 0;
  /// What it waits for, as poll's events.
  [[nodiscard]] virtual short events() const = 0;
  /// Whether one more can be put on it.
  [[nodiscard]] virtual bool has_room(std::size_t /*owed*/) const { return true; }
  /// \throws connection_error. So may `write_out`.
  virtual void put_on_wire(job& j) = 0;
  /// After one or several.
  virtual void write_out() {}
  virtual void drop_wire() = 0;

  /// The connection is over: before there can be another, and before those who are owed an answer hear of it.
  /// The leader's.
  virtual void on_hang_up() {}

  // What it builds on.

  /// \param urgent somebody is interested in the answer.
  void enqueue(job_ptr j, bool urgent);
  /// Puts a connection to use. \param take_over is called with wire_mutex_ held.
  template <class TakeOver>
  void use(TakeOver take_over) {
    const std::lock_guard hold{wire_mutex_};
    take_over();
    heard_ = clock::now();
    down_.reset();
    fresh_ = true;
    connected_ = true;
  }
  /// Any thread, without the core lock.
  void deliver_words(const words& all);
  /// The same under the core lock.
  void pass_on(const words& all);
  void ring_watchers() { watchers_.ring(); }
  [[nodiscard]] bool is_tracked() const { return tracked_; }
  /// The server is good for something: it need not be spared when the connection breaks.
  void prove() { proved_ = true; }

  // The leader's:
  /// A sign of life. With wire_mutex_ held.
  void heard_now() { heard_ = owed_since_ = clock::now(); }
  /// What is owed first. With wire_mutex_ held.
  [[nodiscard]] job* first_owed() const { return owed_.empty() ? nullptr : owed_.front().get(); }
  /// It is answered. With wire_mutex_ held.
  void take_first();
  /// Since it began to hear; null where it had to be sent again.
  [[nodiscard]] const std::vector<job_ptr>& answered() const { return answered_; }
  /// There is more to be said: back to the wire with what is answered. \param which of them, from zero.
  void send_again(std::size_t which);
  /// Tells what is answered, which has to have its result, and words.
  void deliver(const words& all);

  event_loop& loop_;
  std::mutex wire_mutex_;  // for the connection, which the leader alone replaces
  std::optional<connection_error>
      down_;  // with it: why there is none, or why it is of no use any more, once known

 private:
  // The leader:
  void listen(store::caller* who);
  void wait_for_bytes(store::caller* who);
  [[nodiscard]] clock::duration check_health();
  void hang_up(const connection_error& c);

  // The line's own thread:
  void work();
  void connect();
  void give_up(const connection_error& why);
  void pause();
  void missed_words();

  // With wire_mutex_ held:
  void send_queue();
  [[nodiscard]] bool owe_next();
  void owe(job_ptr& j);

  void fail_queue(const connection_error& why);
  [[nodiscard]] failure at_place(const failure& why) const;

  const terms terms_;
  std::function<void(const owner_id&, store::noticed)> told_;
  std::function<void()> missed_;
  watchers watchers_;
  std::size_t watches_ = 0;  // under the core lock

  std::mutex queue_mutex_;
  std::deque<job_ptr> queue_;
  std::atomic<std::size_t> queued_ = 0;

  // With wire_mutex_:
  std::deque<job_ptr> owed_;      // under way, in order
  clock::time_point owed_since_;  // the first of them, or the last sign of life
  clock::time_point heard_;       // the last sign of life
  std::atomic<std::size_t> owed_count_ = 0;

  std::vector<job_ptr> answered_;  // the leader's; those not told yet are told when it hangs up

  wakeup_fd bell_;
  reader_baton baton_{bell_.descriptor()};
  store::backoff pause_{retry_policy{}};
  std::mutex pause_mutex_;
  std::condition_variable paused_;
  wakeup_fd stop_;

  std::atomic<bool> connected_ = false;  // changed with wire_mutex_
  std::atomic<bool> fresh_ = false;      // nobody has listened to this connection yet
  std::atomic<bool> urgent_ = false;     // something urgent was sent since somebody last listened
  std::atomic<bool> tracked_ = false;    // there are watchers
  std::atomic<bool> proved_ = true;      // since the last pause
  std::atomic<bool> stopping_ = false;
  bool had_connection_ = false;  // the line's own thread's
  std::thread thread_;
};

/// A link whose requests are jobs on a multiplexed connection.
template <class Request, class Reply>
class link_on_line : public store::link<Request, Reply>, protected multiplexed_connection {
  using base = store::link<Request, Reply>;

 public:
  void on_notices(typename base::on_notice told) override {
    multiplexed_connection::on_notices(std::move(told));
  }
  void on_gap(const std::function<void()>& missed) override { multiplexed_connection::on_gap(missed); }
  std::shared_ptr<void> watch(std::function<void()> changed) override {
    return multiplexed_connection::watch(std::move(changed));
  }
  void help(store::caller& who) override { multiplexed_connection::help(who); }
  bool drive() override {
    flush();
    return false;
  }
  void kick() override { multiplexed_connection::kick(); }
  /// Ends the link's threads. Nothing is delivered afterwards. Idempotent.
  virtual void shut() { multiplexed_connection::shut(); }

 protected:
  using multiplexed_connection::multiplexed_connection;
};

}  // namespace holdfast::runtime
