// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "core/link.hpp"
#include "core/request.hpp"
#include "core/scheduler.hpp"
#include "core/watched.hpp"
#include "stores/zookeeper/protocol/claim_queue.hpp"
#include "stores/zookeeper/protocol/inspection.hpp"
#include "stores/zookeeper/protocol/layout.hpp"
#include "stores/zookeeper/protocol/liveness.hpp"
#include "stores/zookeeper/protocol/name_watch.hpp"
#include "stores/zookeeper/protocol/wire_nodes.hpp"

namespace holdfast::zookeeper {

/// A client's session at an ensemble. It implements the requests of tickets::link, and passes each one on to
/// a part:
///
/// - `liveness`: until when the session is known to live;
/// - `wire_nodes`: the nodes at the servers, with the bounded watches of the client;
/// - `claim_queue`: the client's own claims, with `reaper`, which removes nodes that may be left;
/// - `inspection`: the state of all claims, for people, and the holds that an operator ends;
/// - `name_watch`: notices that claims come or go, of single names or of all.
///
/// It has no socket, thread or clock: the real link and the simulator run the same code. Every call, reply
/// and notification happens under the client's core lock.
class session {
 public:
  struct settings {
    std::string root;  // empty, or a path
    zookeeper::layout layout = zookeeper::layout::curator;
    duration timeout{};  // the requested timeout of the session; zero: not known
  };
  using on_reply = tickets::link::on_reply;
  using on_notification = tickets::link::on_notification;

  /// Both must outlive the session, and the wire must not answer after its destruction.
  session(store::scheduler& time, wire& servers, const settings& s);
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  // As in tickets::link.
  void send(const tickets::request& request, const on_reply& handler);
  void on_notifications(on_notification handler) { claims_.on_notifications(std::move(handler)); }
  [[nodiscard]] std::optional<store::time_point> session_until() const { return liveness_.until(); }
  void on_session(std::function<void()> handler) { liveness_.on_extended(std::move(handler)); }
  /// See tickets::link. The removal of a place in the queue may still be on its way when its claim has been
  /// answered, and a connection that is closed with unread answers may lose what it has sent.
  void when_delivered(std::function<void()> action) { nodes_.when_removed(std::move(action)); }
  /// From now on `handler` is called after changes of a name, or of all names; null: no more.
  void watch(const store::watched& target, std::function<void()> handler) {
    name_watch_.watch(target, std::move(handler));
  }

  // Events of the wire, which its owner reports in their order among the answers.
  /// A connection was made; `began` is a time before its request was sent. Watches of the same session are
  /// still set.
  void connected(std::int64_t id, duration timeout, store::time_point began);
  void disconnected();
  /// The servers have ended the session, and removed its nodes.
  void expired();
  void happened(const std::string& path, change event);

 private:
  void force_release(const tickets::force_release& request, const on_reply& handler);
  void request_release(const tickets::request_release& request, const on_reply& handler);

  liveness liveness_;
  wire_nodes nodes_;
  claim_queue claims_;
  inspection inspection_;
  name_watch name_watch_;
};

}  // namespace holdfast::zookeeper
