// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/annotated_mutex.hpp"
#include "core/caller.hpp"
#include "core/link.hpp"
#include "holdfast/candidate.hpp"
#include "holdfast/client.hpp"
#include "holdfast/detail/handle.hpp"
#include "lease/lease_manager.hpp"
#include "lease/observers.hpp"
#include "lease/operations.hpp"
#include "lease/set_claims.hpp"
#include "runtime/driver.hpp"
#include "runtime/event_loop.hpp"

namespace holdfast::detail {

/// One client, as its locks and leases use it: the store, the event loop and the lease manager behind
/// functions that any thread may call. Blocking and asynchronous calls start the same operations: an
/// asynchronous call is `start`, a blocking one is `wait`, which starts and performs I/O until the result is
/// there.
class client_core : public std::enable_shared_from_this<client_core> {
 public:
  using op_id = lease_core::op_id;

  /// What operations are made of. Under the core lock.
  struct engine {
    lease_core::lease_manager& leases;
    lease_core::set_claims& sets;
    store::port& store;
    const store::scheduler& time;
    duration patience;

    /// The end of the wait for an answer of the store.
    [[nodiscard]] store::time_point give_up() const { return time.now() + patience; }
    /// The end of a wait of that length; empty: no end. A claim that does not wait needs none.
    [[nodiscard]] std::optional<store::time_point> end_of(std::optional<duration> limit) const {
      if (!limit || *limit == duration::zero()) return std::nullopt;
      return time.now() + *limit;
    }
  };

  /// \throws holdfast::error.
  [[nodiscard]] static std::shared_ptr<client_core> open(std::string_view url, client_options options);
  client_core(std::string_view url, client_options options);
  ~client_core();
  client_core(const client_core&) = delete;
  client_core& operator=(const client_core&) = delete;

  [[nodiscard]] const std::string& url() const noexcept { return url_; }
  [[nodiscard]] const client_options& options() const noexcept { return options_; }
  /// What others see of a claim with the client's label; see metadata_for.
  [[nodiscard]] const std::shared_ptr<const std::string>& metadata() const noexcept { return metadata_; }
  /// \throws holdfast::error errc::closed after `close()` and in a forked child.
  void require_open() const;
  /// Whether this process made the client. A child after fork() touches nothing of it.
  [[nodiscard]] bool is_ours() const noexcept;
  [[nodiscard]] bool is_closed() const noexcept { return closed_; }
  /// Stops when the client is closed.
  [[nodiscard]] std::stop_token closing() const noexcept { return closing_.get_token(); }

  /// Starts an operation, and returns its result. Not in a forked child.
  /// \param begin is called as `begin(engine, handler of the result)`. It returns the operation's number, or
  ///        nothing if the operation cannot be ended early. A question of the store has an `answer`, which is
  ///        errc::closed after `close()`.
  /// \param stop ends the operation with errc::cancelled.
  template <class Result, class Begin>
  [[nodiscard]] Result wait(const Begin& begin, const std::stop_token& stop = {});
  /// Starts an operation. In a forked child its result is errc::closed.
  /// \param done gets the result, once, on a thread of the client and under none of its locks. The result is
  ///        a failure, or can be made of one.
  /// \param is_internal `done` runs no user code, so that whatever thread has the result calls it. `help` or
  ///        `kick` has to follow.
  template <class Result, class Begin>
  pending start(const Begin& begin, std::function<void(Result)> done, bool is_internal = false);
  /// Performs I/O for what was started, until the caller is served; for `limit` at most, then it is
  /// dismissed.
  void help(store::caller& blocked, duration limit);
  /// Has other threads perform it.
  void kick();
  /// Ends an operation that was started, unless it has ended, with errc::cancelled. A release or a downgrade
  /// goes on, and its end is reported to no caller.
  void cancel(op_id id);

  /// Sends a release, without waiting for its end.
  void drop(const lease_core::lease_record_ptr& lease) noexcept;
  /// The same for several, together.
  void drop(std::span<const lease_core::lease_record_ptr> leases) noexcept;
  /// Begins a release. Under the core lock.
  void release(const engine& with, const lease_core::lease_record_ptr& lease,
               store::handler<std::error_code> done);
  /// Ends without a failure when the lease is lost, with errc::closed when that is because the client was
  /// closed, and with errc::not_owner when it was released.
  pending start_wait_lost(const lease_core::lease_record_ptr& lease,
                          std::function<void(std::optional<failure>)> done);
  /// Declares a loss that is due, on this thread.
  void check(const lease_core::lease_record_ptr& lease);
  /// Returns the reason if the lease is lost already; the caller then calls `action`. Otherwise returns the
  /// number of the registration.
  [[nodiscard]] std::variant<std::error_code, op_id> on_lost(
      const lease_core::lease_record_ptr& lease, const std::function<void(std::error_code)>& action);
  /// \return whether the action was still registered, and so is never called.
  bool remove_on_lost(const lease_core::lease_record_ptr& lease, op_id id);
  /// Stops when somebody asks the holder to release.
  [[nodiscard]] std::stop_token release_requested(const lease_core::lease_record_ptr& lease);
  /// The reason; empty if nobody has asked.
  [[nodiscard]] std::optional<std::string> release_request(const lease_core::lease_record_ptr& lease);
  /// Has the first loss of one of the leases stop the one, unless it is released, and the first request to
  /// release one of them the other; also one that has come already.
  void share_signals(std::span<const lease_core::lease_record_ptr> leases,
                     const lease_core::lease_record::set_signals& of_set);
  /// Their sets are released: what happens to these leases from now on stops nothing of them.
  void forget_sets(std::span<const lease_core::lease_record_ptr> leases) noexcept;

  [[nodiscard]] std::shared_ptr<void> watch(store::watched target, std::function<void()> changed);
  /// Observes the election of that name; see election::observe.
  [[nodiscard]] std::shared_ptr<void> observe(std::string name,
                                              std::function<void(const observation&)> changed);

  [[nodiscard]] client_statistics statistics() const noexcept { return parts_->loop.journal().statistics(); }

  void close() noexcept;

 private:
  template <class Result>
  class waiting;
  class loss_wait;
  struct parts {
    runtime::event_loop loop;
    std::unique_ptr<tickets::link> link;
    std::unique_ptr<runtime::driver> driver HOLDFAST_PT_GUARDED_BY(loop);
    std::unique_ptr<lease_core::lease_manager> leases HOLDFAST_PT_GUARDED_BY(loop);
    std::unique_ptr<lease_core::set_claims> sets HOLDFAST_PT_GUARDED_BY(loop);
    std::unique_ptr<lease_core::observers> observers HOLDFAST_PT_GUARDED_BY(loop);
    lease_core::operations operations HOLDFAST_GUARDED_BY(loop);
  };
  template <class Gate>
  struct registrations;

  [[nodiscard]] engine parts_of_an_operation() HOLDFAST_REQUIRES(parts_->loop);
  /// Memory that runs out here ends the process; see docs/guarantees.md.
  template <class Result, class Begin>
  op_id begin_with(const Begin& begin, store::handler<Result> done) noexcept HOLDFAST_REQUIRES(parts_->loop);
  template <class Result>
  [[nodiscard]] store::handler<Result> outside(std::function<void(Result)> done, bool is_internal = false);

  void make_lease_core();
  void end_journal(std::chrono::steady_clock::time_point limit) noexcept;
  void announce_loss(const lease_core::lease_record_ptr& lease) HOLDFAST_REQUIRES(parts_->loop);
  void announce_release_request(const lease_core::lease_record_ptr& lease);
  void forget_listeners(const lease_core::lease_record_ptr& lease) HOLDFAST_REQUIRES(parts_->loop);

  /// An observer gets at least this time for the events that closing causes, also with a flush limit of zero.
  static constexpr std::chrono::milliseconds least_time_for_events{100};

  std::string url_;
  client_options options_;
  std::shared_ptr<const std::string> metadata_;
  std::uint32_t generation_;
  std::atomic<bool> closed_ = false;
  std::atomic<bool> ended_ = false;  // all that closing ends has been told to the journal
  std::stop_source closing_;
  std::unique_ptr<parts> parts_;
};

}  // namespace holdfast::detail
