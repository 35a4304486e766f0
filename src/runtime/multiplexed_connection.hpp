// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/annotated_mutex.hpp"
#include "base/failure.hpp"
#include "core/caller.hpp"
#include "holdfast/error.hpp"
#include "runtime/connection_reader.hpp"
#include "runtime/connector.hpp"
#include "runtime/event_loop.hpp"
#include "runtime/io_deadline.hpp"
#include "runtime/request_pipeline.hpp"

namespace holdfast::runtime {

/// An established connection, as multiplexed_connection uses it, with its wire mutex held. `put` and
/// `write_out` may throw connection_error.
template <class Wire>
concept pipelined_wire = requires(Wire& wire, const Wire& state, typename Wire::request& request) {
  { state.descriptor() } -> std::same_as<int>;
  /// What it waits for, as poll's events.
  { state.events() } -> std::same_as<short>;
  /// How many requests may be in flight now.
  { state.depth() } -> std::same_as<std::size_t>;
  /// Whether the server has to answer a ping before the next request. From then on until the answer `depth`
  /// is zero.
  { state.needs_ping() } -> std::same_as<bool>;
  /// Why it takes no more requests, although the replies in flight still come.
  { state.retirement() } -> std::same_as<std::optional<connection_error>>;
  /// Appends a request.
  wire.put(request);
  /// After one or several `put`.
  wire.write_out();
};

struct connection_settings {
  std::string place;                         // as errors name the server
  std::chrono::milliseconds answer_limit{};  // a server that owes a reply for longer is taken for gone
  std::chrono::milliseconds quiet_limit{};   // a server that is silent for so long is pinged
  /// With more replies due than that, the next requests wait for the thread that reads, or until there are as
  /// many of them, and are sent together.
  std::size_t batch_above = std::numeric_limits<std::size_t>::max();
};

/// One connection to a server for all requests of a client.
///
/// It puts together a request_pipeline, which knows the state of each request; a connector, which decides
/// when to connect; and a `Wire`, the established connection. A `protocol` makes the wire, and reads from it.
/// The threads are those of a connection_reader, which may serve other connections as well. Below, the reader
/// is the thread that reads.
///
/// The thread that sends a request writes it. A connection that breaks, or is silent while a reply is due, is
/// replaced. The requests that were in flight may have been carried out. Queued requests wait for the next
/// connection, and fail if the server cannot be reached.
///
/// If memory runs out in one of its functions, the process ends.
template <class Wire>
class multiplexed_connection final : private readable_connection {
  static_assert(pipelined_wire<Wire>);

 public:
  using request = typename Wire::request;
  using request_ptr = std::unique_ptr<request>;

  /// What a kind of server adds.
  class protocol {
   public:
    protocol(const protocol&) = delete;
    protocol& operator=(const protocol&) = delete;

    /// Connects. A thread of the connection_reader; blocks.
    /// \param stop an eventfd: gives up as soon as it can be read. \throws connection_error.
    [[nodiscard]] virtual std::unique_ptr<Wire> connect(int stop) = 0;
    /// The new wire is in use. The thread that has connected.
    virtual void on_connected() = 0;
    /// Before the first wait for a new wire: bytes may have been buffered already. The reader.
    virtual void begin_reading() {}
    /// Reads replies: finishes requests in flight, sets their outcomes, runs their handlers. The reader.
    /// \param ready poll's events. \throws connection_error.
    virtual void read(short ready) = 0;
    /// The wire is about to be dropped, before requests in flight fail. The reader.
    virtual void on_disconnect() {}
    /// A request that any living server answers. Any thread.
    [[nodiscard]] virtual request_ptr ping() const = 0;
    /// Where the connection leads now, as errors name it; empty: as its settings say. Any thread.
    [[nodiscard]] virtual std::string place() const { return {}; }

   protected:
    protocol() = default;
    ~protocol() = default;
  };

  /// The wire and the requests in flight, locked while this object lives.
  class locked_wire {
   public:
    explicit locked_wire(multiplexed_connection& of) : of_{of}, held_{of.wire_mutex_} {}

    /// Null: not connected.
    [[nodiscard]] Wire* get() const {
      of_.wire_mutex_.assert_locked();
      return of_.wire_.get();
    }
    [[nodiscard]] Wire* operator->() const { return get(); }
    /// \throws connection_error where a thread has found the wire broken while it sent.
    void throw_if_broken() const {
      of_.wire_mutex_.assert_locked();
      if (of_.unusable_) throw connection_error{*of_.unusable_};
    }
    [[nodiscard]] request* first_in_flight() const { return of_.pipeline_.first_in_flight(); }
    /// The first in flight has its replies. The reader.
    void finish_first() {
      of_.pipeline_.finish_first();
      of_.in_flight_ = of_.pipeline_.in_flight();
    }
    /// The server has given a sign of life.
    void heard() {
      of_.wire_mutex_.assert_locked();
      of_.heard_ = of_.due_since_ = clock::now();
    }

   private:
    multiplexed_connection& of_;
    annotated::lock held_;
  };

  /// \param protocol is used until `stop`.
  multiplexed_connection(event_loop& loop, connection_reader& reader, protocol& protocol,
                         connection_settings settings)
      : loop_{loop}, reader_{reader}, protocol_{protocol}, settings_{std::move(settings)}, connector_{loop} {}
  ~multiplexed_connection() { stop(); }
  multiplexed_connection(const multiplexed_connection&) = delete;
  multiplexed_connection& operator=(const multiplexed_connection&) = delete;

  /// Begins to connect. From now on the threads of the connection_reader call the protocol.
  /// \throws holdfast::error errc::exhausted.
  void start() { reader_.add(*this); }
  /// Leaves the connection_reader (see `connection_reader::remove`). No handler runs afterwards. Idempotent.
  void stop() { reader_.remove(*this); }
  /// The same, where other connections are used further: fails all requests, and those that are still to
  /// come. Any thread without the core lock.
  void close(const connection_error& reason);

  /// Gives the connection up, and makes it anew: the requests in flight fail. Where there is none, the next
  /// try is due at once. Any thread.
  void reconnect(const connection_error& reason);

  /// Queues a request. Any thread.
  /// \param urgent a caller waits for the outcome.
  void push(request_ptr r, bool urgent) noexcept;
  /// Fails the first request that is still queued and for which `which` is true: it was not sent, and never
  /// is. Under the core lock.
  template <class Which>
  void take_back(const Which& which);
  /// Why a queued request is not sent yet. Any thread.
  [[nodiscard]] failure reason_to_wait();
  /// Sends what is queued, as far as there is room. Any thread, without the core lock.
  void flush() noexcept;
  /// See link. Where a link has several connections, it calls `flush_unless_read` for them and then
  /// `connection_reader::serve`.
  void help(store::caller& caller);
  void kick();
  /// As `flush`, unless so much is in flight that the thread that reads had better send it.
  void flush_unless_read();

  /// Whether a request is queued or in flight.
  [[nodiscard]] bool is_in_use() const { return queued_ != 0 || in_flight_ != 0; }
  /// Whether the server has owed a reply for longer than that, or requests wait for a connection. Any thread.
  [[nodiscard]] bool is_stalled(std::chrono::steady_clock::duration limit);

  [[nodiscard]] locked_wire lock() { return locked_wire{*this}; }
  /// The server has proved good for something.
  void on_success() { connector_.on_success(); }

  // The reader:
  /// Until the reader itself disconnects. It alone replaces the wire, so it needs no mutex to find it.
  [[nodiscard]] Wire& wire() const HOLDFAST_NO_THREAD_SAFETY_ANALYSIS { return *wire_; }
  [[nodiscard]] const std::vector<request_ptr>& completed() const { return pipeline_.completed(); }
  /// Sends a completed request again. \param index see request_pipeline::restart.
  void restart(std::size_t index);
  /// Under the core lock. See request_pipeline::run_handlers.
  void run_handlers() { pipeline_.run_handlers(); }
  /// After `run_handlers`, without the core lock.
  void forget_completed() { pipeline_.forget_completed(); }

 private:
  using clock = std::chrono::steady_clock;

  annotated::mutex queue_mutex_;
  annotated::mutex wire_mutex_;

  // See readable_connection.
  void connect() noexcept override;
  void stop_connecting() override { connector_.stop(); }
  [[nodiscard]] bool is_connected() const override { return connected_; }
  void prepare() noexcept override;
  [[nodiscard]] interest check() noexcept override;
  void read(short ready) noexcept override;

  // The reader:
  [[nodiscard]] clock::duration check_health() HOLDFAST_REQUIRES(wire_mutex_);
  void disconnect(const connection_error& error) noexcept;

  // The thread that connects:
  void connect_once();
  void give_up(const connection_error& error);

  void send_queued() HOLDFAST_REQUIRES(wire_mutex_);
  void start_ping() HOLDFAST_REQUIRES(wire_mutex_);
  [[nodiscard]] request* start_next() HOLDFAST_REQUIRES(wire_mutex_);
  void count_in_flight() HOLDFAST_REQUIRES(wire_mutex_);

  void fail_queued(const connection_error& error);
  /// Tells and counts a failure of the connection.
  void report(events::counter counted, event_kind kind, const failure& reason) noexcept;
  [[nodiscard]] std::string place() const {
    const std::string now = protocol_.place();
    return now.empty() ? settings_.place : now;
  }
  [[nodiscard]] failure at_place(const failure& reason) const {
    return {reason.code, place() + ": " + reason.message};
  }

  event_loop& loop_;
  connection_reader& reader_;
  protocol& protocol_;
  const connection_settings settings_;

  /// Each stage has its own guard: queue_mutex_, wire_mutex_ for the requests in flight, and for the
  /// completed none, since they are the reader's.
  request_pipeline<request> pipeline_;
  std::atomic<std::size_t> queued_ = 0;
  std::atomic<std::size_t> in_flight_ = 0;

  std::unique_ptr<Wire> wire_ HOLDFAST_GUARDED_BY(wire_mutex_);  // replaced by the reader alone
  /// Why there is no wire, or why it is of no use any more, once known.
  std::optional<connection_error> unusable_ HOLDFAST_GUARDED_BY(wire_mutex_);
  std::optional<connection_error> closed_for_ HOLDFAST_GUARDED_BY(wire_mutex_);  // see `close`
  /// The sending of the first request in flight, or the last sign of life.
  clock::time_point due_since_ HOLDFAST_GUARDED_BY(wire_mutex_);
  clock::time_point heard_ HOLDFAST_GUARDED_BY(wire_mutex_);  // the last sign of life
  clock::time_point unconnected_since_ HOLDFAST_GUARDED_BY(wire_mutex_) = clock::now();

  connector connector_;

  std::atomic<bool> connected_ = false;  // changed with wire_mutex_ locked
  std::atomic<bool> fresh_ = false;      // nobody has read from this wire yet
};

// ---- callers

template <class Wire>
void multiplexed_connection<Wire>::kick() {
  if (queued_ == 0) return;
  flush_unless_read();
  reader_.ensure_reading(queued_ != 0);
}

/// The reader sends a few requests together, when the next reply comes. If it sent many, too, the server
/// would have nothing to do while the replies to those before are read.
template <class Wire>
void multiplexed_connection<Wire>::flush_unless_read() {
  if (in_flight_ > settings_.batch_above && queued_ < settings_.batch_above && reader_.is_reading()) return;
  flush();
}

template <class Wire>
void multiplexed_connection<Wire>::help(store::caller& caller) {
  flush_unless_read();
  reader_.serve(caller);
  if (queued_ != 0) reader_.ensure_reading(true);
}

// ---- sending

template <class Wire>
void multiplexed_connection<Wire>::push(request_ptr r, bool urgent) noexcept {
  if (urgent) r->awaited = reader_.expect_reply();
  const annotated::lock held{queue_mutex_};
  pipeline_.push(std::move(r));
  queued_ = pipeline_.queued();
}

template <class Wire>
void multiplexed_connection<Wire>::flush() noexcept {
  if (queued_ == 0) return;
  std::optional<connection_error> error;
  {
    const annotated::lock held{wire_mutex_};
    if (connected_) return send_queued();
    error = unusable_;
  }
  if (error) fail_queued(*error);
}

template <class Wire>
void multiplexed_connection<Wire>::send_queued() {
  if (unusable_) return;  // the queue waits for the next connection
  const short events = wire_->events();
  try {
    while (request* const next = start_next()) wire_->put(*next);
    // After that: a wire may need a ping from one moment to the next, and takes no request from then on.
    if (queued_ != 0 && pipeline_.in_flight() == 0 && wire_->needs_ping()) start_ping();
    wire_->write_out();
    if (pipeline_.in_flight() == 0) unusable_ = wire_->retirement();
  } catch (const connection_error& c) {
    unusable_ = c;
  }
  // The reader has to learn that, or to wait for other events now.
  if (unusable_ || wire_->events() != events) reader_.interrupt();
}

template <class Wire>
void multiplexed_connection<Wire>::start_ping() {
  request& sent = pipeline_.start(protocol_.ping());
  count_in_flight();
  wire_->put(sent);
}

template <class Wire>
typename multiplexed_connection<Wire>::request* multiplexed_connection<Wire>::start_next() {
  if (queued_ == 0) return nullptr;  // whoever pushes after this sends it
  const annotated::lock held{queue_mutex_};
  request* const next = pipeline_.start_next(wire_->depth());
  if (next == nullptr) return nullptr;
  queued_ = pipeline_.queued();
  count_in_flight();
  return next;
}

/// After one has been put in flight.
template <class Wire>
void multiplexed_connection<Wire>::count_in_flight() {
  in_flight_ = pipeline_.in_flight();
  if (in_flight_ == 1) due_since_ = clock::now();
}

template <class Wire>
void multiplexed_connection<Wire>::fail_queued(const connection_error& error) {
  const store::request_error reason{at_place(error.reason), error.retryable, false};
  std::deque<request_ptr> failed;
  {
    const annotated::lock held{queue_mutex_};
    failed = pipeline_.fail_queued(reason);
    queued_ = 0;
  }
  if (failed.empty()) return;
  const core_lock now{loop_, true};
  for (const request_ptr& each : failed) each->complete();
}

template <class Wire>
template <class Which>
void multiplexed_connection<Wire>::take_back(const Which& which) {
  request_ptr taken;
  {
    const annotated::lock held{queue_mutex_};
    taken = pipeline_.take_queued(which);
    queued_ = pipeline_.queued();
  }
  if (!taken) return;
  taken->fail(store::unsent(reason_to_wait()));
  taken->complete();
}

template <class Wire>
failure multiplexed_connection<Wire>::reason_to_wait() {
  const auto since = [](clock::time_point begun) {
    const auto passed = std::chrono::round<std::chrono::milliseconds>(clock::now() - begun);
    return std::to_string(passed.count()) + " ms";
  };
  failure reason{errc::unavailable, "the request was not sent in time"};
  {
    const annotated::lock held{wire_mutex_};
    if (unusable_)
      reason = unusable_->reason;
    else if (!connected_)
      reason.message = "no connection within " + since(unconnected_since_);
    else if (pipeline_.in_flight() != 0)
      reason.message = "no answer within " + since(due_since_) + " to an earlier request";
  }
  return at_place(reason);
}

template <class Wire>
bool multiplexed_connection<Wire>::is_stalled(std::chrono::steady_clock::duration limit) {
  const annotated::lock held{wire_mutex_};
  if (!connected_) return queued_ != 0;
  return pipeline_.in_flight() != 0 && clock::now() >= due_since_ + limit;
}

// ---- reading

template <class Wire>
void multiplexed_connection<Wire>::prepare() noexcept {
  if (!connected_) return;
  try {
    if (fresh_.exchange(false)) protocol_.begin_reading();
    flush();
  } catch (...) {
    disconnect(caught_connection_error());
  }
}

template <class Wire>
readable_connection::interest multiplexed_connection<Wire>::check() noexcept {
  interest wanted;
  if (!connected_) return wanted;
  try {
    const annotated::lock held{wire_mutex_};
    wanted.patience = check_health();
    wanted.events = wire_->events();
    wanted.descriptor = wire_->descriptor();
  } catch (const connection_error& c) {
    disconnect(c);
  }
  return wanted;
}

template <class Wire>
void multiplexed_connection<Wire>::read(short ready) noexcept {
  if (!connected_) return;
  try {
    protocol_.read(ready);
  } catch (...) {
    disconnect(caught_connection_error());
  }
}

/// Pings a server that has been silent for long.
/// \return when to check again. \throws connection_error if the wire is of no use, or a reply is overdue.
template <class Wire>
typename multiplexed_connection<Wire>::clock::duration multiplexed_connection<Wire>::check_health() {
  if (!unusable_ && pipeline_.in_flight() == 0) unusable_ = wire_->retirement();
  if (unusable_) throw connection_error{*unusable_};
  const auto now = clock::now();
  if (pipeline_.in_flight() == 0 && now >= heard_ + settings_.quiet_limit) {
    start_ping();
    wire_->write_out();
  }
  // Other threads send meanwhile, and do not wake the reader: it looks again before their replies are
  // overdue.
  if (pipeline_.in_flight() == 0) {
    return std::min<clock::duration>(heard_ + settings_.quiet_limit - now, settings_.answer_limit / 2);
  }
  if (now < due_since_ + settings_.answer_limit) return due_since_ + settings_.answer_limit - now;
  throw connection_error{
      {errc::unavailable, "no answer within " + std::to_string(settings_.answer_limit.count()) + " ms"}};
}

template <class Wire>
void multiplexed_connection<Wire>::restart(std::size_t index) {
  const annotated::lock held{wire_mutex_};
  request& again = pipeline_.restart(index);
  count_in_flight();
  wire_->put(again);
  wire_->write_out();
}

/// Requests without a reply fail: whether they were carried out is unknown.
template <class Wire>
void multiplexed_connection<Wire>::disconnect(const connection_error& error) noexcept {
  {
    const annotated::lock held{wire_mutex_};
    pipeline_.finish_all();
    in_flight_ = 0;
    unusable_ = connection_error{error.reason};  // nothing more is sent
  }
  pipeline_.fail_completed({at_place(error.reason), true, true});
  protocol_.on_disconnect();
  {
    const annotated::lock held{wire_mutex_};
    wire_.reset();
    if (error.planned) {
      unusable_.reset();
      connector_.on_success();  // the next connection is made at once
    }
    connected_ = false;
    unconnected_since_ = clock::now();
  }
  report(events::counter::disconnects, event_kind::disconnected, error.reason);
  if (!pipeline_.completed().empty()) {
    const core_lock now{loop_, true};
    pipeline_.run_handlers();
  }
  pipeline_.forget_completed();
  reader_.on_disconnected(*this);
}

template <class Wire>
void multiplexed_connection<Wire>::close(const connection_error& reason) {
  {
    // Before `stop`: a thread that connects takes that for the end of the client, which is no reason to try
    // again.
    const annotated::lock held{wire_mutex_};
    closed_for_ = reason;
  }
  stop();
  if (connected_) disconnect(reason);
  give_up(reason);
}

template <class Wire>
void multiplexed_connection<Wire>::reconnect(const connection_error& reason) {
  {
    const annotated::lock held{wire_mutex_};
    if (connected_) {
      if (!unusable_) unusable_ = reason;
      reader_.interrupt();
      return;
    }
  }
  connector_.hurry();
}

// ---- connecting

template <class Wire>
void multiplexed_connection<Wire>::connect() noexcept {
  while (!connected_ && !connector_.is_stopping()) {
    connector_.await_turn();
    connect_once();
    if (reader_.has_more_to_connect()) return;
  }
}

template <class Wire>
void multiplexed_connection<Wire>::connect_once() {
  bool is_made = false;  // then its end is told as a disconnection
  try {
    auto made = protocol_.connect(connector_.stop_descriptor());
    const std::string server = loop_.journal().is_observed() ? place() : std::string{};
    {
      const annotated::lock held{wire_mutex_};
      // Before any request is answered; and an observer that sends one then waits for the wire.
      loop_.journal().count(events::counter::connects);
      loop_.journal().tell(event_kind::connected, [&](event& e) { e.text = server; });
      is_made = true;
      wire_ = std::move(made);
      heard_ = clock::now();
      unusable_.reset();
      fresh_ = true;
      connected_ = true;
    }
    flush();
    protocol_.on_connected();
    flush();
  } catch (...) {
    const connection_error c = caught_connection_error();
    // The client's end ends a try, too.
    if (!is_made && !connector_.is_stopping())
      report(events::counter::connect_failures, event_kind::connect_failed, c.reason);
    give_up(c);
  }
}

template <class Wire>
void multiplexed_connection<Wire>::report(events::counter counted, event_kind kind,
                                          const failure& reason) noexcept {
  loop_.journal().count(counted);
  loop_.journal().tell(kind, [&](event& e) {
    e.code = reason.code;
    e.text = at_place(reason).message;
  });
}

/// For now. Requests that are sent meanwhile fail with this error.
template <class Wire>
void multiplexed_connection<Wire>::give_up(const connection_error& error) {
  connection_error reason = error;
  {
    const annotated::lock held{wire_mutex_};
    if (closed_for_) reason = *closed_for_;
    unusable_ = reason;
  }
  if (connected_) reader_.interrupt();  // a caller may be reading already: it finds out
  fail_queued(reason);
}

}  // namespace holdfast::runtime
