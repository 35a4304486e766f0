// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/error.hpp"
#include "holdfast/export.hpp"
#include "holdfast/fencing_token.hpp"
#include "holdfast/lease.hpp"
#include "holdfast/options.hpp"
#include "holdfast/state.hpp"
#include "holdfast/statistics.hpp"

namespace holdfast {

namespace detail {
class client_core;
class client_access;
}  // namespace detail

/// One store, its connection, and one keeper for all leases that are taken through it.
///
/// URLs: `sqlite:/var/lib/app/locks.db`, `sqlite:` (the file of this user:
/// `$XDG_STATE_HOME/holdfast/locks.db`), `memory:` (private to this client), `memory:NAME` (shared by all
/// clients of this process that say the same name), `redis://host` or `unix:/path/of/socket` (a Redis
/// server), `redis+sentinel://host1,host2,host3/NAME` (the primary that these Sentinels monitor as NAME),
/// `redis+cluster://host1,host2,host3` (a Redis Cluster), `redlock://host1,host2,host3` (a majority of
/// independent Redis servers), `zk://host1,host2/root` (a ZooKeeper ensemble),
/// `postgresql://user@host/database`, `mysql://user@host/database` (MariaDB, MySQL). With TLS `rediss://`,
/// `rediss+sentinel://`, `rediss+cluster://` and `redlocks://`. `docs/stores` has a page for each store, with
/// its options.
///
/// *Threads.* All members may be called from any thread at any time, except the moves. One client serves any
/// number of locks, waits and leases with a fixed number of threads, and with one connection: on MariaDB and
/// with Sentinels two, on Redlock one to each server, on a cluster one to each primary that it uses. Make one
/// per store and process.
///
/// *Blocking.* The calls that ask the store wait for its answer, for at most the `retry().limit()` of
/// `client_options::locks()`; where an `inspect`, a `list` or a `force_release` takes several requests, for
/// that long each. With a limit of zero they wait until the store's own time limits end it. They do not
/// depend on any lease.
///
/// *Lifetime.* Closing (the destructor) fails pending waits with errc::closed, ends all leases, sends the
/// releases that are still due, and waits for the store's answers for at most `client_options::flush_limit`.
/// Then it waits for `client_options::observer`, which says for how long. On ZooKeeper the destructor may
/// take 4.5 s more while the server is silent. Locks and leases may outlive the client; they hold nothing
/// then. In a child after fork() the client is not usable: every call fails with errc::closed, and the
/// destructor leaves everything to the parent. A client that was moved from may only be destroyed or
/// assigned to.
class HOLDFAST_EXPORT client {
 public:
  /// Opens the store. The client connects to a server in the background, so the first operation reports a
  /// failure of the connection.
  /// \param url the store; see above.
  /// \param options the defaults of its locks, and more.
  /// \throws holdfast::error errc::invalid_url, errc::unavailable, errc::permission_denied,
  ///         errc::foreign_store, errc::corrupt_store, errc::exhausted.
  explicit client(std::string_view url, client_options options = {});
  /// Closes it, as `close()`.
  ~client();
  /// Locks, leases and waits keep the store on which they were made.
  client(client&&) noexcept;
  /// Closes the store that this client had, then takes the other one's.
  client& operator=(client&&) noexcept;
  client(const client&) = delete;
  client& operator=(const client&) = delete;

  /// Returns the lock's state: its holders and waiters. Linearizable: it reflects every operation that was
  /// acknowledged before the call. On Redis a queue of more than 128 claims is read in parts, on SQLite,
  /// PostgreSQL and MariaDB one of more than 64, each of which may be of a later moment. Creates nothing.
  /// \param name 1 to 512 bytes of UTF-8 without control characters.
  /// \return empty where the store does not know the name. Where a majority of servers decides, and one is
  ///         not heard, a state with that note and nothing else.
  /// \throws holdfast::error errc::invalid_name, errc::unavailable, errc::permission_denied,
  ///         errc::corrupt_store, errc::foreign_store, errc::closed.
  [[nodiscard]] std::optional<lock_state> inspect(std::string_view name) const;
  /// As above, with all holders and the first waiters.
  /// \param most_waiters the limit; zero for the holders alone. On ZooKeeper each waiter costs a read: with
  ///        thousands of them, an inspection without a limit takes seconds.
  /// \throws holdfast::error as above.
  [[nodiscard]] std::optional<lock_state> inspect(std::string_view name, std::size_t most_waiters) const;
  /// Returns the names that are held or waited for, sorted by their bytes. Creates nothing.
  /// \param idle also the names of which the store merely remembers the last token.
  /// \throws holdfast::error errc::unavailable, errc::permission_denied, errc::corrupt_store,
  ///         errc::foreign_store, errc::closed.
  [[nodiscard]] std::vector<lock_summary> list(bool idle = false) const;
  /// Ends every hold that a name has at the time of the call, by any client, and hands the name to the next
  /// waiter. The holders are notified of the loss, but nothing waits for them: until they notice it, only the
  /// token fences what they do. A hold that is granted during the call is left alone, also when a request is
  /// repeated because a reply is lost. Each of many readers may take a request, with a limit of its own.
  /// \return how many holds were ended; where a reply was lost, how many there were before.
  /// \throws holdfast::error errc::invalid_name; errc::wrong_type for a hold of another library, before which
  ///         those with lower tokens may have been ended; errc::unknown_outcome, when they may have been
  ///         ended; errc::unavailable, errc::permission_denied, errc::closed.
  std::size_t force_release(std::string_view name) const;
  /// Ends one hold: the one with this token (see lock_state::holders), and no other holder of the name.
  /// \param token of the lease; not zero.
  /// \return whether there was such a hold.
  /// \throws holdfast::error as above; errc::invalid_argument for a token of zero.
  bool force_release(std::string_view name, fencing_token token) const;
  /// Asks all holders of a name, of any client, to release it. A request changes nothing: the holders hear of
  /// it (`lease::release_requested()`) and decide. It stays with the hold, where `inspect()` shows it
  /// (claimant::release_request), until another request replaces it. A holder that is not connected at that
  /// time is not told later, nor, on ZooKeeper, may be a leader who proclaims: ask again. A hold that was
  /// released and rests (see lock_options::at_least) counts as asked, and nobody hears it. Waiters are not
  /// asked. Whoever may lock a name may ask. Waits for the store, as `inspect()` does.
  /// \param reason for people: at most `longest_reason` bytes of UTF-8 without control characters.
  /// \return how many holders were asked; zero where nobody holds.
  /// \throws holdfast::error errc::invalid_name; errc::invalid_argument for the reason; errc::wrong_type for
  ///         a hold of another library that cannot be asked; errc::unknown_outcome, when they may have been
  ///         asked; errc::unavailable, errc::permission_denied, errc::closed.
  std::size_t request_release(std::string_view name, std::string_view reason = {}) const;
  /// Asks one holder: the one with this token (see lock_state::holders).
  /// \param token of the lease; not zero.
  /// \return whether there was such a hold.
  /// \throws holdfast::error as above; errc::invalid_argument for a token of zero.
  bool request_release(std::string_view name, fencing_token token, std::string_view reason = {}) const;
  /// The longest reason of a request to release, in bytes.
  static constexpr std::size_t longest_reason = 200;
  /// Calls `changed` when any lock of the store may have changed: at least once soon after the call, and
  /// again after every burst of changes. The call has no details: use `inspect` or `list` then, which cause
  /// no further call. After a time without a connection to the store it is called once. A hold that ends with
  /// its ttl may be no change to the store before another client claims. `changed` runs on the client's
  /// thread for callbacks, one at a time: one that blocks delays the callbacks of `lease::on_lost` and
  /// nothing else. An exception that it throws ends the process.
  /// \return a handle. Destroying it ends the watch, and waits for a call of `changed` that runs, except when
  ///         `changed` itself destroys it. It may outlive the client, after whose end no call begins:
  ///         `changed` may close or destroy the client.
  /// \throws holdfast::error errc::invalid_argument for an empty function; errc::closed.
  [[nodiscard]] std::shared_ptr<void> watch(std::function<void()> changed) const;
  /// As above, for one name: calls `changed` when its state may have changed, by a claim, a grant, a release
  /// or a loss. Changes of other names cost this client nothing, or little: see the page of the store in
  /// `docs/stores`. Creates nothing. Any number of watches, of the same name or others, go together.
  /// \param name 1 to 512 bytes of UTF-8 without control characters. It need not exist.
  /// \throws holdfast::error errc::invalid_name; as above.
  [[nodiscard]] std::shared_ptr<void> watch(std::string_view name, std::function<void()> changed) const;

  /// Returns what has happened in this client since it was opened, also after `close()`. Cheap: reads some 70
  /// numbers in memory, takes no lock and does not ask the store. They are not read at one moment. In a child
  /// after fork() they stand as they stood when the process forked.
  [[nodiscard]] client_statistics statistics() const noexcept;

  /// The URL with its password masked.
  [[nodiscard]] const std::string& url() const noexcept;
  /// Ends this client now, as the destructor would. Idempotent. Blocks for at most
  /// `client_options::flush_limit`; with a `client_options::observer` also for a call of it that runs.
  void close() noexcept;

 private:
  friend class detail::client_access;
  std::shared_ptr<detail::client_core> core_;
};

/// The URL of the default store: the environment's `HOLDFAST_STORE`, else `sqlite:`. Reads the environment,
/// so it must not run while another thread changes it.
[[nodiscard]] HOLDFAST_EXPORT std::string default_store();

/// Returns a store URL with its password masked and everything else unchanged. Accepts any text. May be
/// called from any thread, as may the two functions below.
[[nodiscard]] HOLDFAST_EXPORT std::string masked_url(std::string_view url);

/// The version of the library, such as "0.1.0".
[[nodiscard]] HOLDFAST_EXPORT std::string_view version() noexcept;
/// The URL schemes that this build understands, such as "memory" and "sqlite".
[[nodiscard]] HOLDFAST_EXPORT std::vector<std::string_view> schemes();

}  // namespace holdfast
