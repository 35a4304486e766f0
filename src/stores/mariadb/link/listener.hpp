// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/annotated_mutex.hpp"
#include "base/owner_id.hpp"
#include "runtime/wakeup_fd.hpp"
#include "stores/mariadb/link/dial.hpp"
#include "stores/sql/link/connection.hpp"

namespace holdfast::mariadb {

/// Receives the notifications for a client: a session of its own, which sleeps at the server in the procedure
/// `listen` until a client that leaves a notification rings, by killing that call. See ring.sql and
/// listen.sql.
///
/// Where the session cannot be had, notifications wait at the server, and claims are looked after by their
/// clients' own looks meanwhile.
class listener {
 public:
  using notifications = std::vector<store::notification>;

  /// \param handler is called on the listener's thread, without the core lock.
  listener(settings to, std::function<void(const owner_id& client, const notifications&)> handler);
  ~listener() { shut(); }
  listener(const listener&) = delete;
  listener& operator=(const listener&) = delete;

  /// Listens for the notifications for this client from now on. Any thread; does not block.
  void serve(const owner_id& client);
  /// Begins to listen, unless it has begun, as soon as a client is set. Any thread; does not block.
  void begin();
  /// Nothing is delivered afterwards. Idempotent.
  void shut();

 private:
  void work();
  void listen(const owner_id& client);
  [[nodiscard]] sql::answer ask(sql::connection& over) const;
  [[nodiscard]] notifications take_in(const std::vector<sql::row>& rows);
  [[nodiscard]] std::optional<owner_id> wait_to_begin();
  void pause(const owner_id& client, std::chrono::milliseconds length);

  const settings to_;
  const std::function<void(const owner_id& client, const notifications&)> handler_;
  std::string seen_;  // the notifications that have been delivered, as `listen` takes them
  annotated::mutex mutex_;
  annotated::condition_variable changed_;
  std::optional<owner_id> client_ HOLDFAST_GUARDED_BY(mutex_);
  bool wanted_ HOLDFAST_GUARDED_BY(mutex_) = false;
  bool stopping_ HOLDFAST_GUARDED_BY(mutex_) = false;
  runtime::wakeup_fd interrupt_;  // to stop, or to serve another client
  std::thread thread_;
};

}  // namespace holdfast::mariadb
