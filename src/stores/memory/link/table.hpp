// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/annotated_mutex.hpp"
#include "core/notification.hpp"
#include "core/request.hpp"

namespace holdfast::memory {

/// The tables of protocol/sql as C++ containers: defines what each request does, without a database. Tests
/// compare it with the SQL text, statement by statement.
class table {
 public:
  /// Carries out one request, by the store's clock.
  /// \param wall_us floor of new tokens, microseconds of the wall clock.
  [[nodiscard]] tickets::reply carry_out(const tickets::request& request, const owner_id& client,
                                         store::time_point now, std::int64_t wall_us,
                                         std::vector<store::client_notification>& notifications);

 private:
  struct claim {
    owner_id owner;
    owner_id client;
    std::int64_t weight = 0;
    store::time_point expires;
    store::time_point since;
    std::shared_ptr<const std::string> metadata;
  };
  struct named {
    std::uint64_t token = 0;    // the last token that was drawn
    std::uint64_t granted = 0;  // the last token that was granted; claims above it wait
    std::int64_t capacity = 0;
    std::map<std::uint64_t, claim> claims;
  };
  class execution;

  std::map<std::string, named> names_;
};

/// A table that the clients of one process share. It passes notifications and changes to them.
class shared_table {
 public:
  struct listener {
    std::function<void(const std::vector<store::notification>&)> notified;
    std::function<void(const std::vector<std::string>& names)> changed;
  };

  /// Returns the table of that name in this process, which lives as long as a client uses it; without a name,
  /// a new table.
  [[nodiscard]] static std::shared_ptr<shared_table> named(const std::string& name);

  void join(const owner_id& client, listener l);
  /// After this, the client's listener is not running and never called again.
  void leave(const owner_id& client);
  /// What requests have caused.
  struct effects {
    std::vector<store::client_notification> notifications;
    std::vector<std::string> changed;  // names
  };
  /// From now on the listeners are told of changes.
  void watch() { is_watched_ = true; }
  [[nodiscard]] bool is_watched() const { return is_watched_; }
  /// Runs `requests` with the table locked, then passes notifications and changes to the listeners.
  void with_table(const std::function<void(table&, effects&)>& requests);

 private:
  annotated::mutex mutex_;
  table table_ HOLDFAST_GUARDED_BY(mutex_);
  annotated::mutex listeners_mutex_;
  std::map<owner_id, listener> listeners_ HOLDFAST_GUARDED_BY(listeners_mutex_);
  std::atomic<bool> is_watched_ = false;  // or was
};

}  // namespace holdfast::memory
