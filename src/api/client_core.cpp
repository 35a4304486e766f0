// SPDX-License-Identifier: Apache-2.0
#include "api/client_core.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "api/claims.hpp"
#include "api/start.hpp"
#include "runtime/process.hpp"
#include "runtime/signals.hpp"
#include "stores/open.hpp"

namespace holdfast::detail {

using lease_core::lease_record_ptr;
using runtime::core_lock;

namespace {

/// The result of a wait for a loss, by the reason for which the lease ended.
std::optional<failure> end_of_wait(std::error_code reason) {
  if (reason == errc::lost) return std::nullopt;
  return failure{reason, reason == errc::closed ? "the client was closed" : "the lease was released"};
}

/// A latch for a wait with a limit.
struct idle_latch {
  annotated::mutex mutex;
  annotated::condition_variable changed;
  bool rung HOLDFAST_GUARDED_BY(mutex) = false;

  void ring() {
    {
      const annotated::lock held{mutex};
      rung = true;
    }
    changed.notify_one();
  }
  bool wait_until(std::chrono::steady_clock::time_point limit) {
    const annotated::lock held{mutex};
    while (!rung && changed.wait_until(mutex, limit) == std::cv_status::no_timeout) {
    }
    return rung;
  }
};

}  // namespace

/// A wait for the loss of a lease, which is among the listeners of the lease by the same number.
class client_core::loss_wait final : public lease_core::operation {
 public:
  loss_wait(op_id id, const lease_record_ptr& lease, store::handler<std::optional<failure>> done)
      : id_{id}, lease_{lease}, done_{std::move(done)} {}
  void cancel(failure reason) override {
    if (const auto lease = lease_.lock()) {
      std::erase_if(lease->on_lost, [&](const auto& each) { return each.id == id_; });
    }
    done_(std::move(reason));
  }
  void close(failure /*reason*/) override {}  // the lease is lost then

 private:
  const op_id id_;
  const std::weak_ptr<lease_record> lease_;
  const store::handler<std::optional<failure>> done_;
};

std::shared_ptr<client_core> client_core::open(std::string_view url, client_options options) {
  auto core = std::make_shared<client_core>(url, std::move(options));
  const core_lock now{core->parts_->loop};
  core->parts_->leases->belong_to({core, core->generation_, core->url_});
  return core;
}

client_core::client_core(std::string_view url, client_options options)
    : options_{std::move(options)},
      generation_{runtime::process_generation()},
      parts_{std::make_unique<parts>()} {
  store_url parsed{url};
  url_ = parsed.masked();
  metadata_ = metadata_for(*this, options_.locks());
  parts_->loop.observe(options_.observer());
  parts_->link = stores::open(std::move(parsed), options_, parts_->loop);
  try {
    make_lease_core();
  } catch (...) {  // out of memory; the parts are destroyed without the core lock, so all threads end first
    parts_->link->shut();
    parts_->loop.stop();
    throw;
  }
  parts_->loop.on_core_lock_released([link = parts_->link.get()] { link->kick(); });
}

void client_core::make_lease_core() {
  const core_lock now{parts_->loop};  // the store may deliver replies from now on
  parts_->driver = std::make_unique<runtime::driver>(parts_->loop, *parts_->link);
  parts_->driver->report_to(parts_->loop.journal());
  store::port& port = *parts_->driver;
  parts_->leases = std::make_unique<lease_core::lease_manager>(parts_->loop, port, parts_->operations,
                                                               [this](const lease_record_ptr& lease) {
                                                                 parts_->loop.assert_core_locked();
                                                                 announce_loss(lease);
                                                               });
  parts_->leases->report_to(parts_->loop.journal());
  parts_->leases->on_release_requested(
      [this](const lease_record_ptr& lease) { announce_release_request(lease); });
  parts_->sets = std::make_unique<lease_core::set_claims>(parts_->loop, *parts_->leases, parts_->operations);
  parts_->observers =
      std::make_unique<lease_core::observers>(parts_->loop, port, options_.locks().retry().limit());
}

client_core::~client_core() {
  if (!is_ours()) {
    // The parent's threads and connections: leave everything as it is.
    [[maybe_unused]] const parts* const left_alone = parts_.release();
    return;
  }
  close();
  const auto take_apart = [](std::unique_ptr<parts> p) {
    p->link->shut();  // no reply arrives any more
    p->loop.stop();   // no timer fires; users have been notified of everything
  };
  if (!runtime::is_own_thread()) {
    take_apart(std::move(parts_));
  } else {
    // A callback of this client dropped the last reference, and a thread cannot wait for its own end.
    parts* const all = parts_.release();
    try {
      runtime::quiet_thread([take_apart, all] { take_apart(std::unique_ptr<parts>{all}); }).detach();
    } catch (const std::exception&) {
      // Out of threads or memory. Everything has been released; the remaining threads idle until the process
      // ends.
    }
  }
}

bool client_core::is_ours() const noexcept { return generation_ == runtime::process_generation(); }

void client_core::require_open() const {
  if (!is_ours()) {
    throw error{errc::closed,
                "the client of " + url_ +
                    " belongs to the parent process; open a client of its own in the child of a fork()"};
  }
  if (closed_) throw error{errc::closed, "the client of " + url_ + " has been closed"};
}

client_core::engine client_core::parts_of_an_operation() {
  return {*parts_->leases, *parts_->sets, *parts_->driver, parts_->loop, options_.locks().retry().limit()};
}

void client_core::help(store::caller& blocked, duration limit) {
  if (!is_ours()) return;
  store::scheduler::timer dismissal = 0;
  {
    const core_lock now{parts_->loop, true};
    dismissal = parts_->loop.at(parts_->loop.now() + limit, [&blocked] { blocked.dismiss(); });
  }
  parts_->link->help(blocked);
  const core_lock now{parts_->loop};
  parts_->loop.cancel(dismissal);
}

void client_core::kick() {
  if (is_ours()) parts_->link->kick();
}

void client_core::cancel(op_id id) {
  if (!is_ours()) return;
  const core_lock now{parts_->loop};
  parts_->operations.cancel(id, {errc::cancelled, "the operation was cancelled"});
}

/// The lease was released: waits for its loss end, and callbacks are not called any more.
void client_core::forget_listeners(const lease_record_ptr& lease) {
  if (lease->on_lost.empty()) return;
  for (const auto& each : lease->on_lost) {
    if (each.is_wait) parts_->operations.remove(each.id);
  }
  // The callbacks are destroyed there, too: they are user code.
  parts_->loop.defer_signal([listeners = std::exchange(lease->on_lost, {})] {
    for (const auto& each : listeners) {
      if (each.is_wait) each.action(errc::not_owner);
    }
  });
}

void client_core::release(const engine& with, const lease_record_ptr& lease,
                          store::handler<std::error_code> done) {
  parts_->loop.assert_core_locked();
  with.leases.release(lease, std::move(done));
  forget_listeners(lease);
}

void client_core::drop(const lease_record_ptr& lease) noexcept {
  if (!is_ours()) return;
  const core_lock now{parts_->loop};
  release(parts_of_an_operation(), lease, nullptr);
}

void client_core::drop(std::span<const lease_record_ptr> leases) noexcept {
  if (!is_ours()) return;
  const core_lock now{parts_->loop};
  const engine with = parts_of_an_operation();
  with.leases.together([&] {
    parts_->loop.assert_core_locked();
    for (const lease_record_ptr& each : leases) release(with, each, nullptr);
  });
}

pending client_core::start_wait_lost(const lease_record_ptr& lease,
                                     std::function<void(std::optional<failure>)> done) {
  if (!is_ours()) {
    done(failure{errc::closed, "the lease belongs to the parent process"});
    return {};
  }
  const core_lock now{parts_->loop};
  parts_->leases->check(lease);
  auto later = outside<std::optional<failure>>(done);
  if (lease->state() != lease_record::phase::held) {
    const bool is_lost = lease->state() == lease_record::phase::lost;
    later(end_of_wait(is_lost ? lease->reason : make_error_code(errc::not_owner)));
    return {};
  }
  const op_id id = parts_->operations.next_id();
  parts_->operations.add(id, std::make_shared<loss_wait>(id, lease, std::move(later)));
  lease->on_lost.push_back(
      {id, true, [done = std::move(done)](std::error_code reason) { done(end_of_wait(reason)); }});
  return {weak_from_this(), id};
}

void client_core::check(const lease_record_ptr& lease) {
  if (!is_ours()) return;
  const core_lock now{parts_->loop};
  parts_->leases->check(lease);
}

void client_core::announce_loss(const lease_record_ptr& lease) {
  parts_->sets->lost(*lease);
  // Captures the parts and not `this`, because this may run while the client is being destroyed.
  const auto give_back = [p = parts_.get(), lease] {
    if (lease->reason == errc::closed) return;  // closing releases all leases
    const core_lock now{p->loop};
    p->leases->after_loss(lease);
  };
  std::vector<lease_record::listener> callbacks;
  std::vector<lease_record::listener> waits;
  for (auto& each : std::exchange(lease->on_lost, {})) {
    (each.is_wait ? waits : callbacks).push_back(std::move(each));
  }
  for (const auto& each : waits) parts_->operations.remove(each.id);
  // The callbacks run on another thread than the signals: one that takes long must not delay the signal of
  // the next lease.
  parts_->loop.defer_signal([p = parts_.get(), lease, sets = lease->of_sets, waits = std::move(waits),
                             callbacks = std::move(callbacks), give_back]() mutable {
    lease->lost.request_stop();
    for (auto& each : sets) each.lost.request_stop();
    for (const auto& each : waits) each.action(lease->reason);
    if (callbacks.empty()) return give_back();
    p->loop.call_back([lease, callbacks = std::move(callbacks), give_back] {
      for (const auto& each : callbacks) each.action(lease->reason);
      give_back();
    });
  });
}

std::variant<std::error_code, client_core::op_id> client_core::on_lost(
    const lease_record_ptr& lease, const std::function<void(std::error_code)>& action) {
  std::function<void(std::error_code)> copy{action};  // copied here, because copying is user code, too
  const core_lock now{parts_->loop};
  parts_->leases->check(lease);
  if (lease->state() == lease_record::phase::lost) return lease->reason;
  const op_id number = parts_->operations.next_id();
  lease->on_lost.push_back({number, false, std::move(copy)});
  return number;
}

bool client_core::remove_on_lost(const lease_record_ptr& lease, op_id id) {
  if (!is_ours()) return false;
  std::function<void(std::error_code)> unused;  // destroyed after the core lock is released
  const core_lock now{parts_->loop};
  const auto found = std::find_if(lease->on_lost.begin(), lease->on_lost.end(),
                                  [&](const auto& each) { return each.id == id && !each.is_wait; });
  if (found == lease->on_lost.end()) return false;
  unused = std::move(found->action);
  lease->on_lost.erase(found);
  return true;
}

void client_core::announce_release_request(const lease_record_ptr& lease) {
  parts_->loop.assert_core_locked();
  parts_->loop.defer_signal([own = lease->release_requested, sets = lease->of_sets]() mutable {
    own.request_stop();
    for (auto& each : sets) each.release_requested.request_stop();
  });
}

std::stop_token client_core::release_requested(const lease_record_ptr& lease) {
  const core_lock now{parts_->loop};
  // Made for the first who listens: most leases are never asked about it.
  if (!lease->release_requested.stop_possible()) {
    lease->release_requested = std::stop_source{};
    if (lease->release_request) lease->release_requested.request_stop();
  }
  return lease->release_requested.get_token();
}

std::optional<std::string> client_core::release_request(const lease_record_ptr& lease) {
  const core_lock now{parts_->loop};
  return lease->release_request ? std::optional{*lease->release_request} : std::nullopt;
}

void client_core::share_signals(std::span<const lease_record_ptr> leases,
                                const lease_record::set_signals& of_set) {
  if (!is_ours()) return;
  bool is_lost = false;
  bool is_requested = false;
  {
    const core_lock now{parts_->loop};
    for (const lease_record_ptr& each : leases) {
      each->of_sets.push_back(of_set);
      is_lost = is_lost || each->state() == lease_record::phase::lost;
      is_requested = is_requested || each->release_request != nullptr;
    }
  }
  if (is_lost) std::stop_source{of_set.lost}.request_stop();
  if (is_requested) std::stop_source{of_set.release_requested}.request_stop();
}

void client_core::forget_sets(std::span<const lease_record_ptr> leases) noexcept {
  const core_lock now{parts_->loop};
  for (const lease_record_ptr& each : leases) each->of_sets.clear();
}

void client_core::close() noexcept {
  if (!is_ours()) return;
  const auto limit = std::chrono::steady_clock::now() + options_.flush_limit();
  if (closed_.exchange(true)) {
    // Another thread closes it, or has. Its observer may still run, and is not to outlive this call, either.
    if (!runtime::is_own_thread()) ended_.wait(false);
    return end_journal(limit);
  }
  closing_.request_stop();
  const auto idle = std::make_shared<idle_latch>();
  {
    const core_lock now{parts_->loop, true};
    parts_->operations.close({errc::closed, "the client was closed"});
    parts_->leases->close();
    parts_->observers->close();
    parts_->driver->when_idle([idle] { idle->ring(); });
  }
  while (parts_->link->drive()) {
  }
  parts_->link->kick();
  if (!idle->wait_until(limit)) {
    const core_lock now{parts_->loop};
    parts_->driver->abandon();
  }
  ended_ = true;
  ended_.notify_all();
  end_journal(limit);
}

void client_core::end_journal(std::chrono::steady_clock::time_point limit) noexcept {
  // A thread of a client may be the one that has to tell the events.
  if (runtime::is_own_thread()) return parts_->loop.journal().end(std::nullopt);
  parts_->loop.journal().end(std::max(limit, std::chrono::steady_clock::now() + least_time_for_events));
}

}  // namespace holdfast::detail
