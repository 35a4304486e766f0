#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/annotated_mutex.hpp"
#include "base/failure.hpp"
#include "core/caller.hpp"
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
/// Where memory runs out in a function of it, the process ends.
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

  [[nodiscard]] bool is_left_to_reader() const;
  void send_queued() HOLDFAST_REQUIRES(wire_mutex_);
  void start_ping() HOLDFAST_REQUIRES(wire_mutex_);
  [[nodiscard]] request* start_next() HOLDFAST_REQUIRES(wire_mutex_);
  void count_in_flight() HOLDFAST_REQUIRES(wire_mutex_);

  void fail_queued(const connection_error& error);
  /// Tells and counts a failure of the connection.
  void report(events::counter counted, event_kind kind, const failure& reason) noexcept;
  void report_no_connection(const failure& reason) noexcept;
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

  connector connector_;

  std::atomic<bool> connected_ = false;  // changed with wire_mutex_ locked
  std::atomic<bool> fresh_ = false;      // nobody has read from this wire yet
};

}  // namespace holdfast::runtime

#include "runtime/multiplexed_connection_impl.hpp"  // IWYU pragma: keep
