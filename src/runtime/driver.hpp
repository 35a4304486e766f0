// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/call.hpp"
#include "core/journal.hpp"
#include "core/link.hpp"
#include "core/port.hpp"
#include "core/request.hpp"
#include "core/scheduler.hpp"

namespace holdfast::runtime {

/// The port of a store: runs its machines over the store's link, and turns their actions into requests and
/// timers, replies and ticks into their events. The simulator runs the very same driver.
class driver final : public store::port {
 public:
  /// Both must outlive the driver; the link must have stopped calling back before.
  driver(store::scheduler& time, tickets::link& to);
  ~driver() override;
  /// Where claims that wait and claims in trouble are told; without it nowhere. It must outlive the driver.
  void report_to(events::journal& journal) { journal_ = &journal; }
  driver(const driver&) = delete;
  driver& operator=(const driver&) = delete;

  void together(const std::function<void()>& begin) override;
  void acquire(store::claim_ptr claim, store::handler<store::acquired> done) override;
  void cancel(const owner_id& owner) override;
  [[nodiscard]] std::optional<failure> error_now(const owner_id& owner) override;
  void renew(std::vector<store::hold> holds, store::time_point answer_by,
             store::handler<store::renewals> done) override;
  void release(store::hold hold, store::time_point give_up, store::handler<store::released> done) override;
  void expire_at(store::hold hold, store::time_point until, store::time_point give_up,
                 store::handler<store::released> done) override;
  void downgrade(store::hold hold, store::time_point give_up, store::handler<store::lowered> done) override;
  void annotate(store::hold hold, std::shared_ptr<const std::string> metadata, store::time_point give_up,
                store::handler<store::annotated> done) override;
  void inspect(std::string name, std::size_t most_waiters, store::time_point give_up,
               store::handler<store::inspected> done) override;
  void list(bool idle, store::time_point give_up, store::handler<store::listed> done) override;
  void force_release(std::string name, std::optional<fencing_token> token, store::time_point give_up,
                     store::handler<store::forced> done) override;
  void request_release(std::string name, std::optional<fencing_token> token, std::string reason,
                       store::time_point give_up, store::handler<store::notified> done) override;
  std::shared_ptr<void> watch(store::watched target, std::function<void()> changed) override;
  void on_revoked(std::function<void(const owner_id&, fencing_token)> handler) override;
  void on_release_requested(std::function<void(const owner_id&)> handler) override;
  void on_gap(std::function<void()> missed) override;
  [[nodiscard]] std::optional<store::time_point> session_until() const override;
  void on_session(const std::function<void()>& extended) override;
  [[nodiscard]] std::size_t busy() const override { return busy_; }
  void when_idle(std::function<void()> action) override;
  void abandon() override;

 private:
  class operation;
  template <class Machine, class Result>
  class operation_of;

  /// Makes a machine, and starts it.
  /// \param claimant empty: it is no claim.
  template <class Machine, class Result, class... Arguments>
  void start(store::handler<Result>&& done, const owner_id& claimant, Arguments&&... of_machine);
  /// Starts the machine of one request, or of several.
  template <class Question, class Result>
  void ask(Question&& question, const tickets::limits& until, store::handler<Result>&& done);

  /// Memory that runs out here ends the process; see docs/guarantees.md.
  void feed(operation& op, const store::event<tickets::reply>& e) noexcept;
  void on_time(operation& op);
  [[nodiscard]] bool take_back(const operation& op);
  [[nodiscard]] std::uint64_t number_of(const tickets::request& request);
  void send(operation& op, tickets::request&& request);
  void on_reply(operation& op, tickets::link::outcome&& o) noexcept;
  /// A request, and which operation waits for its reply.
  struct sent_request {
    operation* by;
    tickets::request request;
  };
  void send_together(std::span<sent_request> all);
  void on_joint_reply(const std::vector<sent_request>& parts, const tickets::link::outcome& o) noexcept;
  [[nodiscard]] std::unique_ptr<operation> take_out(const operation& ended);
  void doubt_ended_session(tickets::link::outcome& of) const;
  void on_notification(const store::notification& n);
  void everybody_looks();
  void tell_if_idle();

  store::scheduler& time_;
  tickets::link& link_;
  std::uint64_t last_number_ = 0;
  std::uint64_t last_request_ = 0;
  const operation* taking_back_ = nullptr;  // its request; null: none, or it is answered
  /// In any order. One that has finished stays until its last reply is here.
  std::vector<std::unique_ptr<operation>> running_;
  std::optional<std::vector<sent_request>> gathered_;  // while operations begin together
  std::size_t busy_ = 0;  // of them, those that have not finished, and are not in vain
  std::unordered_map<owner_id, operation*> claiming_;
  std::function<void(const owner_id&, fencing_token)> revoked_;
  std::function<void(const owner_id&)> release_requested_;
  std::function<void()> gap_;
  std::function<void()> idle_;
  events::journal* journal_ = nullptr;
};

}  // namespace holdfast::runtime
