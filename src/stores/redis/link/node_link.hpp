// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "base/annotated_mutex.hpp"
#include "base/owner_id.hpp"
#include "core/request.hpp"
#include "runtime/notifying_link.hpp"
#include "stores/quorum/protocol/ballots.hpp"
#include "stores/redis/link/node.hpp"
#include "stores/redis/link/settings.hpp"
#include "stores/redis/link/stream.hpp"
#include "stores/redis/link/wire.hpp"

namespace holdfast::redis {

/// What the links to servers of Redis share: the settings, how a request becomes a command, and which nodes
/// have commands that nobody has written to the socket yet.
class node_link : public runtime::notifying_link {
 public:
  /// \throws holdfast::error for certificates that cannot be read.
  node_link(runtime::event_loop& loop, settings s);

  void help(store::caller& caller) override;
  bool drive() override;
  void kick() override;

 protected:
  using node_ptr = std::shared_ptr<node>;
  using command_ptr = std::unique_ptr<pending_command>;

  /// Whether a claim would outlast the guard of a server. Then it is refused, soon: see outlasts_guard.
  [[nodiscard]] bool refuses(const tickets::request& r, const on_reply& handler);
  [[nodiscard]] command_ptr command_of(ballots::request&& r, on_reply&& handler) const;
  /// The node has commands that nobody has written.
  void add_unflushed(const node_ptr& to);
  /// What a handler has sent has no caller that would send it.
  void kick_soon();

  const settings settings_;
  const owner_id client_ = owner_id::random();
  std::unique_ptr<tls_context> secure_;  // null: no TLS

 private:
  [[nodiscard]] std::vector<node_ptr> take_unflushed();

  annotated::mutex mutex_;
  std::vector<node_ptr> unflushed_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::redis
