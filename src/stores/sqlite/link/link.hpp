// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/request.hpp"
#include "runtime/batching_link.hpp"
#include "runtime/state_watch.hpp"
#include "runtime/watchers.hpp"
#include "stores/sqlite/link/change_watch.hpp"
#include "stores/sqlite/link/database.hpp"
#include "stores/sqlite/link/mailbox.hpp"

namespace holdfast::sqlite {

/// Carries requests to an SQLite file: all requests that are queued, in one transaction.
///
/// The file and its tables are made before the first claim. A client that only reads makes nothing, and finds
/// nothing.
///
/// A file that was deleted or replaced, or whose -wal or -shm was, is opened, or made, anew. What is not in
/// it is lost then, as with a server that comes back empty.
class link final : public runtime::batching_link {
 public:
  /// \param prepare makes the folder for the file, before the file is made.
  /// \throws holdfast::error as `database` does.
  link(runtime::event_loop& on, const database::settings& s, std::function<void()> prepare);
  ~link() override;
  link(const link&) = delete;
  link& operator=(const link&) = delete;

  std::shared_ptr<void> watch(store::watched target, std::function<void()> changed) override;
  void shut() override;

 private:
  friend class fork_guard;

  void find_database();
  void leave() noexcept;
  void close_if_replaced() noexcept HOLDFAST_REQUIRES(executing()) {
    if (database_ && !database_->is_in_place()) database_.reset();
  }
  bool execute(std::vector<job>& batch, bool last_try) noexcept override HOLDFAST_REQUIRES(executing());
  [[nodiscard]] bool open_for(const std::vector<job>& batch) HOLDFAST_REQUIRES(executing());
  [[nodiscard]] store::request_error busy() const;
  [[nodiscard]] store::request_error replaced() const;
  void distribute(const std::vector<store::client_notification>& notifications)
      HOLDFAST_REQUIRES(executing());

  const database::settings settings_;
  std::function<void()> prepare_ HOLDFAST_GUARDED_BY(executing());  // null once there has been a file
  bool claims_ HOLDFAST_GUARDED_BY(executing()) = false;            // a claim was made
  /// Null where there is no database, and after a failure, until the next request.
  std::unique_ptr<database> database_ HOLDFAST_GUARDED_BY(executing());
  mailbox mailbox_;
  // Under the core lock:
  runtime::watchers watchers_;
  runtime::state_watch states_;  // of the names that are watched alone
  std::unique_ptr<change_watch> changes_;
};

}  // namespace holdfast::sqlite
