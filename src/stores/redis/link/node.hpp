// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/owner_id.hpp"
#include "core/caller.hpp"
#include "core/notification.hpp"
#include "core/watched.hpp"
#include "runtime/connection_reader.hpp"
#include "runtime/event_loop.hpp"
#include "runtime/multiplexed_connection.hpp"
#include "stores/redis/link/connection.hpp"
#include "stores/redis/link/key_tracking.hpp"
#include "stores/redis/link/settings.hpp"
#include "stores/redis/link/wire.hpp"
#include "stores/redis/protocol/cluster.hpp"
#include "stores/redis/protocol/failover_guard.hpp"
#include "stores/redis/protocol/resp.hpp"
#include "stores/redis/protocol/server_address.hpp"

namespace holdfast::redis {

/// One server, as a client uses it: one multiplexed connection for all commands and notifications.
class node final : private runtime::multiplexed_connection<wire>::protocol {
 public:
  using notifications = std::vector<store::notification>;

  /// What the link that has the node adds.
  class parent {
   public:
    parent(const parent&) = delete;
    parent& operator=(const parent&) = delete;

    /// Connects to the server, as `dial`. A thread that connects; blocks.
    /// \param stop an eventfd: gives up as soon as it can be read. \throws connection_error, parser::garbage.
    [[nodiscard]] virtual redis::connection connect(node& to, int stop) = 0;
    /// The new connection is in use. The thread that has connected.
    /// \param again it is not the node's first: notifications may have been lost.
    virtual void on_connected(node& to, bool again) = 0;
    /// There is no connection any more, or still none. A thread that connects or reads, without the core
    /// lock.
    virtual void on_unreachable(node& /*server*/) {}
    /// Under the core lock.
    virtual void on_received(const notifications& received) = 0;
    /// The server passes on no more notifications for names of a slot. Under the core lock.
    virtual void on_channel_end() {}
    /// The server does not have the slot of its guard_marker any more. The reader, without the core lock.
    /// \return whether the marker is in another slot now.
    [[nodiscard]] virtual bool on_marker_moved(node& /*server*/, const redirection& /*to*/) { return false; }
    /// Names that are watched have changed. Under the core lock.
    virtual void on_changes(const changes& of) = 0;
    /// The node has queued commands of its own, which nobody has written to the socket. Under the core lock.
    virtual void on_queued(node& /*at*/) {}
    /// The server does not have the slot of a name that is watched. Under the core lock.
    virtual void on_misplaced() {}
    /// Where the connection leads now, as errors name it; empty: as the node was named. Any thread.
    [[nodiscard]] virtual std::string place() const { return {}; }
    /// What the message of a server that is a replica has to add.
    [[nodiscard]] virtual std::string advice_on_replica() const { return {}; }

   protected:
    parent() = default;
    ~parent() = default;
  };

  /// \param of, link are used until `stop`.
  /// \param client on whose channel notifications are to be heard.
  node(runtime::event_loop& loop, runtime::connection_reader& reader, const settings& of, server_address at,
       std::string place, const owner_id& client, parent& link);
  /// Where it was started, `stop` or `close` come before. With or without the core lock.
  ~node() { connection_.stop(); }
  node(const node&) = delete;
  node& operator=(const node&) = delete;

  // See runtime::multiplexed_connection.
  void start() { connection_.start(); }
  void stop();
  void close(const connection_error& reason);
  void reconnect(const connection_error& reason) { connection_.reconnect(reason); }
  void push(std::unique_ptr<pending_command>&& c) {
    const bool is_urgent = c->is_urgent();
    connection_.push(std::move(c), is_urgent);
  }
  /// \param is_urgent a caller waits for the reply.
  void push(std::unique_ptr<pending_command>&& c, bool is_urgent) {
    connection_.push(std::move(c), is_urgent);
  }
  /// See tickets::link.
  void take_back(std::uint64_t request) {
    connection_.take_back([request](const pending_command& c) { return c.handler.request == request; });
  }
  /// Why a queued command is not sent yet.
  [[nodiscard]] failure reason_to_wait() { return connection_.reason_to_wait(); }
  void flush() { connection_.flush(); }
  void flush_unless_read() { connection_.flush_unless_read(); }
  void help(store::caller& caller) { connection_.help(caller); }
  void kick() { connection_.kick(); }

  [[nodiscard]] bool is_in_use() const { return connection_.is_in_use(); }
  [[nodiscard]] bool is_stalled(std::chrono::steady_clock::duration limit) {
    return connection_.is_stalled(limit);
  }
  [[nodiscard]] bool is_connected() { return connection_.lock().get() != nullptr; }
  [[nodiscard]] const server_address& at() const { return at_; }
  /// Has the server report changes of a name, or of all names, or not any more. The parent hears that they
  /// may have changed as soon as the server does, also after each reconnect. Under the core lock.
  void track(const store::watched& target, bool on) { tracking_.track(target, on); }
  /// Under the core lock.
  [[nodiscard]] bool is_tracked() const { return tracking_.is_on(); }
  /// Of the next connection. The thread that connects.
  [[nodiscard]] redis::wishes wishes() const { return {client_, former_, marker_, known_marker_}; }
  [[nodiscard]] guard_marker& marker() { return marker_; }

 private:
  /// The messages that were read, but for replies.
  struct received {
    node::notifications notifications;
    std::vector<value> other_pushes;
    bool surplus = false;  // replies to no request
  };

  // See runtime::multiplexed_connection::protocol.
  [[nodiscard]] std::unique_ptr<wire> connect(int stop) override;
  void on_connected() override;
  void begin_reading() override { read_all(); }
  void read(short ready) override;
  void on_disconnect() override;
  [[nodiscard]] std::unique_ptr<pending_command> ping() const override;
  [[nodiscard]] std::string place() const override { return parent_.place(); }

  void stop_tracking();

  // The reader:
  void read_all();
  void handle_messages();
  [[nodiscard]] received match_messages();
  [[nodiscard]] bool interpret_replies();
  void hear_ping(const value& reply);
  void deliver(const notifications& received, bool missed);
  [[nodiscard]] bool forget_channels(const std::vector<value>& pushes);
  [[nodiscard]] changes changes_in(const std::vector<value>& pushes) const;

  runtime::event_loop& loop_;
  const settings& settings_;
  const server_address at_;
  const owner_id client_;
  parent& parent_;
  guard_marker marker_;
  bool was_connected_ = false;       // the connecting thread's
  std::vector<value> early_;         // pushes that came while it connected: the connecting thread's
  std::string former_;               // ends the former connection: the reader's, then the connecting thread's
  std::string known_marker_;         // likewise
  std::vector<char> buffer_;         // the reader's
  std::vector<value> messages_;      // those that were read last: the reader's
  std::uint64_t message_count_ = 0;  // since it was first connected: the reader's
  runtime::multiplexed_connection<wire> connection_;
  key_tracking tracking_;  // under the core lock
};

}  // namespace holdfast::redis
