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

namespace holdfast {

namespace detail {
class session;
class client_access;
}  // namespace detail

/// One store, its connection, and one keeper for all leases taken through it.
///
/// URLs: `sqlite:/var/lib/app/locks.db`, `sqlite:` (the file of this user:
/// `$XDG_STATE_HOME/holdfast/locks.db`), `memory:` (private to this client), `memory:NAME` (shared by all
/// clients of this process that say the same name), `redis://host`, `rediss://host` with TLS,
/// `unix:/path/of/socket` (a Redis server), `zk://host1,host2/root` (a ZooKeeper ensemble),
/// `postgresql://user@host/database`, `mysql://user@host/database` (MariaDB, MySQL). `docs/stores`
/// has a page for each store, with its options.
///
/// *Threads.* All members may be called from any thread. One client serves any number of locks, waits and
/// leases with one connection (on MariaDB two) and a fixed number of threads; make one per store and
/// process.
///
/// *Lifetime.* Closing (the destructor) fails pending waits with errc::closed, ends all leases, sends what
/// is still to be released, and waits for the store's word at most `client_options::flush_limit`. Locks
/// and leases may outlive the client; they hold nothing then. Not usable in a child after fork(): every
/// call fails with errc::closed there, and the destructor leaves everything to the parent. One that was moved
/// from may only be destroyed or assigned to.
class HOLDFAST_EXPORT client {
 public:
  /// Opens the store. One behind a network is connected to in the background: what is wrong there is told by
  /// the first operation.
  /// \throws holdfast::error errc::invalid_url, errc::unavailable, errc::permission_denied,
  ///         errc::foreign_store, errc::corrupt_store, errc::exhausted.
  explicit client(std::string_view url, client_options options = {});
  ~client();
  client(client&&) noexcept;
  client& operator=(client&&) noexcept;
  client(const client&) = delete;
  client& operator=(const client&) = delete;

  /// What the store has of a name, as it stands after all that anybody was told before the call; empty where
  /// it has never heard of it.
  /// \throws holdfast::error errc::invalid_name, errc::unavailable …
  [[nodiscard]] std::optional<lock_state> inspect(std::string_view name) const;
  /// Likewise, all holders and the first waiters.
  /// \param most_waiters the limit; zero for the holders alone. On ZooKeeper each waiter costs a read: behind
  ///        thousands of them, an inspection without a limit takes seconds.
  /// \throws holdfast::error as above.
  [[nodiscard]] std::optional<lock_state> inspect(std::string_view name, std::size_t most_waiters) const;
  /// The names that are held or waited for, sorted by their bytes; with `idle`, also those that the store
  /// merely remembers the last token of.
  [[nodiscard]] std::vector<lock_summary> list(bool idle = false) const;
  /// Ends every hold that a name has at the time of the call, whoever has it, and hands the name to the next
  /// waiter. The holders are notified of the loss, but nothing waits for them: until they notice it, only the
  /// token fences what they do. A hold that is granted during the call is left alone, also when a request is
  /// repeated because a reply is lost. Each of many readers may take a request, with a limit of its own.
  /// \return how many holds were ended; where a reply was lost, how many there were before.
  /// \throws holdfast::error errc::invalid_name; errc::wrong_type for a hold of another library, before which
  ///         those with lower tokens may have been ended; errc::unknown_outcome, when they may have been
  ///         ended; errc::unavailable …
  std::size_t force_release(std::string_view name) const;
  /// Ends one hold: the one with this token (see lock_state::holders), and no other holder of the name.
  /// \param token of the lease; not zero.
  /// \return whether there was such a hold.
  /// \throws holdfast::error as above; errc::invalid_argument for a token of zero.
  bool force_release(std::string_view name, fencing_token token) const;
  /// Calls `changed` whenever the store may have changed, at least once soon after the call and again
  /// after every burst of changes, on the client's thread for callbacks, until the returned handle is
  /// destroyed. It tells that something happened, not what: inspect or list then.
  [[nodiscard]] std::shared_ptr<void> watch(std::function<void()> changed) const;

  /// The URL with its password masked.
  [[nodiscard]] const std::string& url() const noexcept;
  /// Ends this client now, as the destructor would. Idempotent.
  void close() noexcept;

 private:
  friend class detail::client_access;
  std::shared_ptr<detail::session> session_;
};

/// The store that is meant when nobody names one: `HOLDFAST_STORE`, else `sqlite:`.
[[nodiscard]] HOLDFAST_EXPORT std::string default_store();

/// A store URL as it may be shown: its password masked, everything else as it was.
[[nodiscard]] HOLDFAST_EXPORT std::string masked_url(std::string_view url);

/// "0.1.0"
[[nodiscard]] HOLDFAST_EXPORT std::string_view version() noexcept;
/// The URL schemes that this build understands, such as "memory" and "sqlite".
[[nodiscard]] HOLDFAST_EXPORT std::vector<std::string_view> schemes();

}  // namespace holdfast
