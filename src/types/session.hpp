#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <vector>

#include "holdfast/client.hpp"
#include "holdfast/detail/handle.hpp"
#include "lease/book.hpp"
#include "runtime/backend.hpp"
#include "runtime/loop.hpp"

namespace holdfast::detail {

/// One client, as its locks and leases know it: the store, the loop and the book behind functions that any
/// thread may call. Blocking calls and asynchronous ones start the same operation; they differ in who hears
/// of its end.
class session : public std::enable_shared_from_this<session> {
 public:
  using op_id = lease_core::book::claim_id;
  /// Called once, outside turns.
  using on_acquired = std::function<void(lease_core::taken)>;

  /// \throws holdfast::error.
  [[nodiscard]] static std::shared_ptr<session> open(std::string_view url, client_options options);
  session(std::string_view url, client_options options);
  ~session();
  session(const session&) = delete;
  session& operator=(const session&) = delete;

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
  [[nodiscard]] lease_core::taken acquire(lease_core::wish what, std::optional<duration> limit,
                                          const std::stop_token& stop);
  op_id start_acquire(lease_core::wish what, std::optional<duration> limit, on_acquired done);
  void cancel(op_id which);

  /// Sends a release without waiting for its end.
  void drop(const lease_core::record_ptr& lease) noexcept;
  [[nodiscard]] std::error_code release(const lease_core::record_ptr& lease);
  [[nodiscard]] renewal renew(const lease_core::record_ptr& lease);
  [[nodiscard]] std::optional<failure> downgrade(const lease_core::record_ptr& lease);
  void start_release(const lease_core::record_ptr& lease, std::function<void(std::error_code)> done);
  void start_downgrade(const lease_core::record_ptr& lease, std::function<void(std::optional<failure>)> done);
  /// Declares a loss that is due, on this thread.
  void check(const lease_core::record_ptr& lease);
  /// The reason, for a lease that is lost already; `action` is then left to the caller.
  [[nodiscard]] std::optional<std::error_code> on_lost(const lease_core::record_ptr& lease,
                                                       const std::function<void(std::error_code)>& action);

  [[nodiscard]] store::inspected inspect(std::string name);
  [[nodiscard]] store::listed list(bool idle);
  [[nodiscard]] store::forced force_release(std::string name, std::optional<fencing_token> token);
  [[nodiscard]] std::shared_ptr<void> watch(std::function<void()> changed);

  void close() noexcept;

 private:
  struct parts {
    runtime::loop loop;
    std::unique_ptr<runtime::backend> store;
    std::unique_ptr<lease_core::book> book;
  };

  void announce_loss(const lease_core::record_ptr& lease);
  template <class Result, class Start, class Cancel>
  Result wait_for(Start start, const std::stop_token& stop, Cancel cancel);
  template <class Result, class Start>
  Result wait_for(Start start);
  [[nodiscard]] store::time_point give_up() const;
  /// Carries `action` out of the turn.
  template <class Function>
  auto outside(Function action);

  std::string url_;
  client_options options_;
  std::uint32_t generation_;
  std::atomic<bool> closed_ = false;
  std::stop_source closing_;
  std::unique_ptr<parts> parts_;
};

}  // namespace holdfast::detail
