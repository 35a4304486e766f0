// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/link/link.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "stores/sql/protocol/call.hpp"
#include "stores/sqlite/link/fork_guard.hpp"

namespace holdfast::sqlite {

namespace {

/// Others have the file for microseconds as a rule: less than a sleep takes.
template <class Attempt>
bool tries_until_true(Attempt attempt) {
  constexpr int tries = 50;
  for (int i = 0; i < tries; ++i) {
    if (attempt()) return true;
    std::this_thread::yield();
  }
  return false;
}

}  // namespace

link::link(runtime::event_loop& on, const database::settings& s, std::function<void()> prepare)
    : batching_link{on},
      settings_{s},
      prepare_{std::move(prepare)},
      mailbox_{on, s.path, [this](const std::vector<store::notification>& received) { deliver(received); }},
      watchers_{on,
                [this](const store::watched& target, bool on_now) {
                  if (!target) return;
                  on_now ? states_.add(*target) : states_.remove(*target);
                }},
      states_{on, [this](tickets::request r, on_reply handler) { send(std::move(r), std::move(handler)); },
              [this](const std::string& name) { watchers_.ring_only(name); }} {
  fork_guard::close_inherited();
  fork_guard::add(*this);
  try {
    find_database();
    start();
  } catch (...) {  // the destructor does not run
    leave();
    throw;
  }
}

link::~link() { leave(); }

void link::find_database() {
  fork_guard::close_replaced(settings_.path);
  const annotated::lock no_fork{executing()};
  database_ = database::find(settings_);
  if (database_) prepare_ = nullptr;
}

/// Closes the database while no fork() can happen, and lets go of the guard after that: a child must inherit
/// neither a mutex of SQLite's that is locked nor a database that it would not close.
void link::leave() noexcept {
  {
    const annotated::lock no_fork{executing()};
    database_.reset();
  }
  fork_guard::remove(*this);
}

void link::shut() {
  batching_link::shut();
  mailbox_.close();
  changes_.reset();
  const runtime::core_lock now{owner(), true};
  states_.stop();
}

/// The file has no details: a name that is watched alone is read after each burst of changes, and its
/// watchers are called where its claims differ.
std::shared_ptr<void> link::watch(store::watched target, std::function<void()> changed) {
  if (!changes_) {
    changes_ = std::make_unique<change_watch>(owner(), settings_.path, [this] {
      owner().assert_core_locked();
      watchers_.ring_only(std::nullopt);
      states_.look();
    });
  }
  return watchers_.add(target, std::move(changed));
}

/// Leaves `database_` null where there is no database, and no claim is made.
/// \return false: others of this process keep the file busy.
bool link::open_for(const std::vector<job>& batch) {
  claims_ = claims_ || std::any_of(batch.begin(), batch.end(), [](const job& j) {
              return std::holds_alternative<tickets::acquire>(j.request);
            });
  if (!database_ || !database_->is_in_place()) {
    database_.reset();
    if (!tries_until_true([&] { return fork_guard::try_to_close_replaced(*this); })) return false;
    if (claims_ && prepare_) {
      prepare_();
      prepare_ = nullptr;  // a folder that is removed while there are claims is not made again
    }
    // The wait for processes that keep it busy is done by the caller, where each request has its own limit.
    database::settings hasty = settings_;
    hasty.opening_limit = std::min<duration>(hasty.opening_limit, std::chrono::milliseconds{100});
    if (claims_) make_file(settings_.path);
    database_ = claims_ ? std::make_unique<database>(hasty) : database::find(hasty);
  }
  // A client that only ends holds by force notifies their holders.
  const bool writes =
      std::any_of(batch.begin(), batch.end(), [](const job& j) { return !tickets::is_read_only(j.request); });
  if (claims_ || (database_ && writes)) mailbox_.open();
  return true;
}

bool link::execute(std::vector<job>& batch, bool last_try) noexcept {
  const auto fail_all = [&](const store::request_error& reason) {
    for (job& j : batch) j.result = reason;
    return true;
  };
  std::vector<store::client_notification> notifications;
  try {
    if (!open_for(batch)) return last_try && fail_all(busy());
    if (!database_) {
      for (job& j : batch) j.result = sql::reply_of_nothing(j.request);
      return true;
    }
    const bool reads = std::all_of(batch.begin(), batch.end(),
                                   [](const job& j) { return tickets::is_read_only(j.request); });
    const auto mode = reads ? database::access::read : database::access::write;
    if (!tries_until_true([&here = *database_, mode] { return here.begin(mode); }))
      return last_try && fail_all(busy());
    for (job& j : batch) j.result = database_->carry_out(j.request, mailbox_.address(), notifications);
    if (!reads) database_->sweep_if_due();
    database_->commit();
    // What was committed to files that nobody else finds any more does not count.
    if (!reads && !database_->is_in_place()) throw broken{replaced()};
  } catch (const broken& b) {
    if (database_) database_->roll_back();
    if (b.cause.reason.code != errc::exhausted) database_.reset();
    return fail_all(b.cause);
  } catch (const error& e) {
    return fail_all(
        {{e.code(), e.detail()}, e.code() == errc::unavailable || e.code() == errc::exhausted, false});
  } catch (const std::out_of_range&) {
    if (database_) database_->roll_back();
    database_.reset();
    return fail_all(
        {{errc::corrupt_store, settings_.path +
                                   ": the tables returned rows of an unexpected form; check who may write "
                                   "the file, and choose another path"},
         false,
         false});
  }
  distribute(notifications);
  return true;
}

store::request_error link::busy() const {
  return {{errc::unavailable, settings_.path +
                                  ": another process keeps the file locked; look for a process with an "
                                  "open transaction (fuser FILE)"},
          true,
          false};
}

store::request_error link::replaced() const {
  return {{errc::unavailable,
           settings_.path + ", its -wal or its -shm was removed or replaced while clients use it"},
          true,
          true};
}

void link::distribute(const std::vector<store::client_notification>& notifications) {
  std::map<owner_id, std::vector<store::notification>> away;
  for (const store::client_notification& n : notifications) {
    if (n.client == mailbox_.address()) {
      deliver_after_batch(n.message);
    } else {
      away[n.client].push_back(n.message);
    }
  }
  for (const auto& [client, batch] : away) mailbox_.send(client, batch);
}

}  // namespace holdfast::sqlite
