#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/annotated_mutex.hpp"
#include "holdfast/candidate.hpp"
#include "holdfast/client.hpp"
#include "holdfast/detail/handle.hpp"
#include "lease/lease_manager.hpp"
#include "lease/observers.hpp"
#include "lease/set_claims.hpp"
#include "runtime/backend.hpp"
#include "runtime/event_loop.hpp"

namespace holdfast::detail {

/// One client, as its locks and leases use it: the store, the event loop and the lease manager behind
/// functions that any thread may call. Blocking and asynchronous calls start the same operations; only the
/// receiver of the result differs.
class client_core : public std::enable_shared_from_this<client_core> {
 public:
  using op_id = lease_core::lease_manager::claim_id;
  /// Called once, without the core lock.
  using on_acquired = std::function<void(lease_core::taken)>;
  using on_set_acquired = std::function<void(lease_core::set_taken)>;
  /// Called once, without the core lock: nothing on success.
  using on_ended = std::function<void(std::optional<failure>)>;
  using on_inspected = std::function<void(store::inspected)>;
  using on_notified = std::function<void(store::notified)>;

  /// \throws holdfast::error.
  [[nodiscard]] static std::shared_ptr<client_core> open(std::string_view url, client_options options);
  client_core(std::string_view url, client_options options);
  ~client_core();
  client_core(const client_core&) = delete;
  client_core& operator=(const client_core&) = delete;

  [[nodiscard]] const std::string& url() const noexcept { return url_; }
  [[nodiscard]] const client_options& options() const noexcept { return options_; }
  /// \throws holdfast::error errc::closed after `close()` and in a forked child.
  void require_open() const;
  /// Whether this process made the client. A child after fork() touches nothing of it.
  [[nodiscard]] bool is_ours() const noexcept;
  [[nodiscard]] bool is_closed() const noexcept { return closed_; }
  /// Stops when the client is closed.
  [[nodiscard]] std::stop_token closing() const noexcept { return closing_.get_token(); }

  /// \param stop ends the wait with errc::cancelled.
  [[nodiscard]] lease_core::taken acquire(lease_core::wish wish, std::optional<duration> limit,
                                          const std::stop_token& stop);
  op_id start_acquire(lease_core::wish wish, std::optional<duration> limit, on_acquired handler);
  /// As the two above, for several names; see set_claims.
  [[nodiscard]] lease_core::set_taken acquire_set(std::vector<lease_core::wish> wishes,
                                                  std::optional<duration> limit, const std::stop_token& stop);
  op_id start_acquire_set(std::vector<lease_core::wish> wishes, std::optional<duration> limit,
                          on_set_acquired handler);
  /// Ends an operation that was started, unless it has ended, with errc::cancelled. A release or a downgrade
  /// goes on, and its end is reported to no caller.
  void cancel(op_id id);

  /// Sends a release without waiting for its end.
  void drop(const lease_core::lease_record_ptr& lease) noexcept;
  [[nodiscard]] std::error_code release(const lease_core::lease_record_ptr& lease);
  /// As the two above, for several leases, whose requests are sent together. Throws before it has released
  /// any.
  void drop_all(const std::vector<lease_core::lease_record_ptr>& leases);
  [[nodiscard]] std::vector<std::error_code> release_all(
      const std::vector<lease_core::lease_record_ptr>& leases);
  [[nodiscard]] renewal renew(const lease_core::lease_record_ptr& lease);
  [[nodiscard]] std::optional<failure> downgrade(const lease_core::lease_record_ptr& lease);
  /// Replaces the metadata of an exclusive hold.
  [[nodiscard]] std::optional<failure> annotate(const lease_core::lease_record_ptr& lease,
                                                std::shared_ptr<const std::string> metadata);
  op_id start_annotate(const lease_core::lease_record_ptr& lease, std::shared_ptr<const std::string> metadata,
                       on_ended handler);
  op_id start_release(const lease_core::lease_record_ptr& lease, on_ended handler);
  op_id start_downgrade(const lease_core::lease_record_ptr& lease, on_ended handler);
  /// Ends without a failure when the lease is lost, with errc::closed when that is because the client was
  /// closed, and with errc::not_owner when it was released.
  op_id start_wait_lost(const lease_core::lease_record_ptr& lease, on_ended handler);
  /// Declares a loss that is due, on this thread.
  void check(const lease_core::lease_record_ptr& lease);
  /// Returns the reason if the lease is lost already; the caller then calls `action`. Otherwise returns the
  /// number of the registration.
  [[nodiscard]] std::variant<std::error_code, op_id> on_lost(
      const lease_core::lease_record_ptr& lease, const std::function<void(std::error_code)>& action);
  /// \return whether the action was still registered, and so is never called.
  bool remove_on_lost(const lease_core::lease_record_ptr& lease, op_id id);

  /// Has the first loss of one of the leases stop it, also one that has come already; unless it is released.
  void share_losses(const std::vector<lease_core::lease_record_ptr>& leases, const std::stop_source& lost);

  [[nodiscard]] store::inspected inspect(std::string name, std::size_t most_waiters);
  [[nodiscard]] store::listed list(bool idle);
  [[nodiscard]] store::forced force_release(std::string name, std::optional<fencing_token> token);
  /// Asks the holder with the token, or without one all holders, to release.
  [[nodiscard]] store::notified request_release(std::string name, std::optional<fencing_token> token,
                                                std::shared_ptr<const std::string> reason);
  op_id start_request_release(std::string name, std::optional<fencing_token> token,
                              std::shared_ptr<const std::string> reason, on_notified handler);
  /// Stops when somebody asks the holder to release.
  [[nodiscard]] std::stop_token release_requested(const lease_core::lease_record_ptr& lease);
  /// The reason; empty where nobody has asked.
  [[nodiscard]] std::optional<std::string> release_request(const lease_core::lease_record_ptr& lease);
  /// Has the first request to release one of the leases stop it, also one that has come already.
  void share_release_requests(const std::vector<lease_core::lease_record_ptr>& leases,
                              const std::stop_source& requested);
  /// As `inspect`, without waiting for the answer.
  op_id start_inspect(std::string name, std::size_t most_waiters, on_inspected handler);
  [[nodiscard]] std::shared_ptr<void> watch(store::watched target, std::function<void()> changed);
  /// Observes the election of that name; see election::observe.
  [[nodiscard]] std::shared_ptr<void> observe(std::string name,
                                              std::function<void(const observation&)> changed);

  [[nodiscard]] client_statistics statistics() const noexcept { return parts_->loop.journal().statistics(); }

  void close() noexcept;

 private:
  /// A handler that waits for the end of an operation. The operation goes on without it.
  struct wait {
    on_ended handler;
    std::weak_ptr<lease_record> lease;  // the lease whose loss is awaited
  };
  struct parts {
    runtime::event_loop loop;
    std::unique_ptr<runtime::backend> store;
    std::unique_ptr<lease_core::lease_manager> leases HOLDFAST_PT_GUARDED_BY(loop);
    std::unique_ptr<lease_core::set_claims> sets HOLDFAST_PT_GUARDED_BY(loop);
    std::unique_ptr<lease_core::observers> observers HOLDFAST_PT_GUARDED_BY(loop);
    std::unordered_map<op_id, wait> waits HOLDFAST_GUARDED_BY(loop);
    op_id last_wait HOLDFAST_GUARDED_BY(loop) = 0;
  };
  template <class Gate>
  struct registrations;
  using loss_actions = decltype(lease_record::on_lost);

  std::string url_;
  client_options options_;
  std::uint32_t generation_;
  std::atomic<bool> closed_ = false;
  std::atomic<bool> ended_ = false;  // all that closing ends has been told to the journal
  std::stop_source closing_;
  std::unique_ptr<parts> parts_;

  void make_lease_core();
  void end_journal(std::chrono::steady_clock::time_point limit) noexcept;

  /// An observer gets at least this time for the events that closing causes, also with a flush limit of zero.
  static constexpr std::chrono::milliseconds least_time_for_events{100};

  /// Numbers of waits and loss callbacks, which the lease manager does not use for claims.
  static constexpr op_id first_wait = op_id{1} << 63U;
  /// Likewise of claims for several names, which count from here.
  static constexpr op_id first_set = op_id{1} << 62U;

  op_id add_wait(on_ended handler) HOLDFAST_REQUIRES(parts_->loop);
  void end_wait(op_id id, std::optional<failure> result) HOLDFAST_REQUIRES(parts_->loop);
  /// Ends the waits for the loss of a lease that was released. \return user code to be destroyed after the
  /// core lock is released.
  [[nodiscard]] loss_actions forget_loss(const lease_core::lease_record_ptr& lease)
      HOLDFAST_REQUIRES(parts_->loop);
  void announce_loss(const lease_core::lease_record_ptr& lease) HOLDFAST_REQUIRES(parts_->loop);
  void announce_release_request(const lease_core::lease_record_ptr& lease);
  template <class Result, class Start, class Cancel>
  Result wait_for(Start start, const std::stop_token& stop, Cancel cancel);
  template <class Result, class Start>
  Result wait_for(Start start);
  template <class Result>
  void discard(const Result& result) HOLDFAST_REQUIRES(parts_->loop);
  [[nodiscard]] store::time_point give_up() const;
  /// The end of a wait of that length that begins now; empty: no end.
  [[nodiscard]] std::optional<store::time_point> end_of(std::optional<duration> limit, bool waits) const;
  /// Runs `action` after the core lock is released.
  template <class Function>
  auto outside(Function action);
  /// Starts an operation of the port that answers with a value, for a caller that does not wait.
  template <class Value, class Start>
  op_id start_asking(std::function<void(store::answer<Value>)> handler, Start start);
};

}  // namespace holdfast::detail
