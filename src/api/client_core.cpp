#include "api/client_core.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "api/wait_for.hpp"
#include "runtime/process.hpp"
#include "runtime/signals.hpp"
#include "stores/open.hpp"

namespace holdfast::detail {

using lease_core::lease_record_ptr;
using runtime::core_lock;

namespace {

/// The result of a wait for a loss.
std::optional<failure> loss_of(const lease_record& lease) {
  if (lease.reason == errc::lost) return std::nullopt;
  return failure{lease.reason, "the client was closed"};
}

}  // namespace

std::shared_ptr<client_core> client_core::open(std::string_view url, client_options options) {
  return std::make_shared<client_core>(url, std::move(options));
}

client_core::client_core(std::string_view url, client_options options)
    : options_{std::move(options)},
      generation_{runtime::process_generation()},
      parts_{std::make_unique<parts>()} {
  store_url parsed{url};
  url_ = parsed.masked();
  parts_->loop.observe(options_.observer());
  parts_->store = stores::open(std::move(parsed), options_, parts_->loop);
  try {
    make_lease_core();
  } catch (...) {  // out of memory; the parts are destroyed without the core lock, so all threads end first
    parts_->store->shut();
    parts_->loop.stop();
    throw;
  }
  parts_->loop.on_core_lock_released([store = parts_->store.get()] { store->kick(); });
}

void client_core::make_lease_core() {
  const core_lock now{parts_->loop};  // the store may deliver replies from now on
  store::port& port = parts_->store->port();
  parts_->leases =
      std::make_unique<lease_core::lease_manager>(parts_->loop, port, [this](const lease_record_ptr& lease) {
        parts_->loop.assert_core_locked();
        announce_loss(lease);
      });
  parts_->leases->report_to(parts_->loop.journal());
  parts_->leases->on_release_requested(
      [this](const lease_record_ptr& lease) { announce_release_request(lease); });
  parts_->sets = std::make_unique<lease_core::set_claims>(parts_->loop, *parts_->leases);
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
    p->store->shut();  // no reply arrives any more
    p->loop.stop();    // no timer fires; users have been notified of everything
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

lease_core::taken client_core::acquire(lease_core::wish wish, std::optional<duration> limit,
                                       const std::stop_token& stop) {
  return wait_for<lease_core::taken>(
      [&](auto handler) -> op_id {
        if (closed_) {
          handler(failure{errc::closed, "the client was closed"});
          return 0;
        }
        parts_->loop.assert_core_locked();
        const auto until = end_of(limit, wish.claim.wait);
        return parts_->leases->acquire(std::move(wish), until, std::move(handler));
      },
      stop, [this](op_id id) { cancel(id); });
}

client_core::op_id client_core::start_acquire(lease_core::wish wish, std::optional<duration> limit,
                                              on_acquired handler) {
  const core_lock now{parts_->loop};
  auto later = outside(std::move(handler));
  if (closed_) {
    later(lease_core::taken{failure{errc::closed, "the client was closed"}});
    return 0;
  }
  const auto until = end_of(limit, wish.claim.wait);
  return parts_->leases->acquire(std::move(wish), until, std::move(later));
}

std::optional<store::time_point> client_core::end_of(std::optional<duration> limit, bool waits) const {
  if (!limit || !waits) return std::nullopt;
  return parts_->loop.now() + *limit;
}

void client_core::cancel(op_id id) {
  if (!is_ours()) return;
  const core_lock now{parts_->loop};
  if (id < first_set) return parts_->leases->cancel(id);
  if (id < first_wait) return parts_->sets->cancel(id - first_set);
  end_wait(id, failure{errc::cancelled, "the wait was cancelled"});
}

client_core::op_id client_core::add_wait(on_ended handler) {
  const op_id id = first_wait + ++parts_->last_wait;
  parts_->waits.emplace(id, wait{std::move(handler), {}});
  return id;
}

void client_core::end_wait(op_id id, std::optional<failure> result) {
  const auto found = parts_->waits.find(id);
  if (found == parts_->waits.end()) return;
  if (const auto lease = found->second.lease.lock()) {
    std::erase_if(lease->on_lost, [&](const auto& action) { return action.first == id; });
  }
  parts_->loop.defer_signal(
      [handler = std::move(found->second.handler), result = std::move(result)] { handler(result); });
  parts_->waits.erase(found);
}

client_core::loss_actions client_core::forget_loss(const lease_record_ptr& lease) {
  auto actions = std::exchange(lease->on_lost, {});
  for (const auto& [number, action] : actions) {
    end_wait(number, failure{errc::not_owner, "the lease was released"});
  }
  return actions;
}

void client_core::drop(const lease_record_ptr& lease) noexcept {
  if (!is_ours()) return;
  loss_actions unused;  // destroyed after the core lock is released: they are user code
  const core_lock now{parts_->loop};
  parts_->leases->release(lease, nullptr);
  unused = forget_loss(lease);
}

std::error_code client_core::release(const lease_record_ptr& lease) {
  if (!is_ours()) return errc::closed;
  loss_actions unused;
  return wait_for<std::error_code>([&](auto handler) {
    parts_->loop.assert_core_locked();
    parts_->leases->release(lease, std::move(handler));
    unused = forget_loss(lease);
  });
}

renewal client_core::renew(const lease_record_ptr& lease) {
  if (!is_ours()) return renewal::lost;
  return wait_for<renewal>([&](auto handler) {
    parts_->loop.assert_core_locked();
    parts_->leases->renew(lease, std::move(handler));
  });
}

std::optional<failure> client_core::downgrade(const lease_record_ptr& lease) {
  require_open();
  return wait_for<std::optional<failure>>([&](auto handler) {
    parts_->loop.assert_core_locked();
    parts_->leases->downgrade(lease, std::move(handler));
  });
}

namespace {
failure parents_lease() { return {errc::closed, "the lease belongs to the parent process"}; }
}  // namespace

client_core::op_id client_core::start_release(const lease_record_ptr& lease, on_ended handler) {
  if (!is_ours()) {
    handler(parents_lease());
    return 0;
  }
  loss_actions unused;
  const core_lock now{parts_->loop};
  const op_id id = add_wait(std::move(handler));
  parts_->leases->release(lease, [this, id](std::error_code code) {
    parts_->loop.assert_core_locked();
    end_wait(id, code ? std::optional{failure{code, code == errc::lost
                                                        ? "the lease had ended before"
                                                        : "the store did not confirm the release in time"}}
                      : std::nullopt);
  });
  unused = forget_loss(lease);
  return id;
}

client_core::op_id client_core::start_downgrade(const lease_record_ptr& lease, on_ended handler) {
  if (!is_ours()) {
    handler(parents_lease());
    return 0;
  }
  const core_lock now{parts_->loop};
  const op_id id = add_wait(std::move(handler));
  parts_->leases->downgrade(lease, [this, id](std::optional<failure> failed) {
    parts_->loop.assert_core_locked();
    end_wait(id, std::move(failed));
  });
  return id;
}

std::optional<failure> client_core::annotate(const lease_record_ptr& lease,
                                             std::shared_ptr<const std::string> metadata) {
  if (!is_ours()) return parents_lease();
  return wait_for<std::optional<failure>>([&](auto handler) {
    parts_->loop.assert_core_locked();
    parts_->leases->annotate(lease, std::move(metadata), std::move(handler));
  });
}

client_core::op_id client_core::start_annotate(const lease_record_ptr& lease,
                                               std::shared_ptr<const std::string> metadata,
                                               on_ended handler) {
  if (!is_ours()) {
    handler(parents_lease());
    return 0;
  }
  const core_lock now{parts_->loop};
  const op_id id = add_wait(std::move(handler));
  parts_->leases->annotate(lease, std::move(metadata), [this, id](std::optional<failure> failed) {
    parts_->loop.assert_core_locked();
    end_wait(id, std::move(failed));
  });
  return id;
}

client_core::op_id client_core::start_wait_lost(const lease_record_ptr& lease, on_ended handler) {
  if (!is_ours()) {
    handler(parents_lease());
    return 0;
  }
  const core_lock now{parts_->loop};
  parts_->leases->check(lease);
  const op_id id = add_wait(std::move(handler));
  switch (lease->state()) {
    case lease_record::phase::held:
      lease->on_lost.emplace_back(id, nullptr);
      parts_->waits.at(id).lease = lease;
      break;
    case lease_record::phase::releasing:
      end_wait(id, failure{errc::not_owner, "the lease was released"});
      break;
    case lease_record::phase::lost: end_wait(id, loss_of(*lease)); break;
  }
  return id;
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
  auto actions = std::exchange(lease->on_lost, {});
  std::vector<op_id> waits;
  for (const auto& [number, action] : actions) {
    if (!action) waits.push_back(number);
  }
  std::erase_if(actions, [](const auto& action) { return !action.second; });
  // The callbacks run on another thread than the signals: one that takes long must not delay the signal of
  // the next lease.
  parts_->loop.defer_signal([p = parts_.get(), lease, set_lost = lease->set_lost,
                             actions = std::move(actions), give_back]() mutable {
    lease->lost.request_stop();
    set_lost.request_stop();
    if (actions.empty()) return give_back();
    p->loop.call_back([lease, actions = std::move(actions), give_back] {
      for (const auto& [number, action] : actions) action(lease->reason);
      give_back();
    });
  });
  for (const op_id each : waits) end_wait(each, loss_of(*lease));
}

std::variant<std::error_code, client_core::op_id> client_core::on_lost(
    const lease_record_ptr& lease, const std::function<void(std::error_code)>& action) {
  std::function<void(std::error_code)> copy{action};  // copied here, because copying is user code, too
  const core_lock now{parts_->loop};
  parts_->leases->check(lease);
  if (lease->state() == lease_record::phase::lost) return lease->reason;
  const op_id number = first_wait + ++parts_->last_wait;
  lease->on_lost.emplace_back(number, std::move(copy));
  return number;
}

bool client_core::remove_on_lost(const lease_record_ptr& lease, op_id id) {
  if (!is_ours()) return false;
  std::function<void(std::error_code)> unused;  // destroyed after the core lock is released
  const core_lock now{parts_->loop};
  const auto found = std::find_if(lease->on_lost.begin(), lease->on_lost.end(),
                                  [&](const auto& action) { return action.first == id && action.second; });
  if (found == lease->on_lost.end()) return false;
  unused = std::move(found->second);
  lease->on_lost.erase(found);
  return true;
}

store::time_point client_core::give_up() const {
  return parts_->loop.now() + options_.locks().retry().limit();
}

store::inspected client_core::inspect(std::string name, std::size_t most_waiters) {
  require_open();
  return wait_for<store::inspected>([&](auto handler) {
    parts_->store->port().inspect(std::move(name), most_waiters, give_up(), std::move(handler));
  });
}

store::listed client_core::list(bool idle) {
  require_open();
  return wait_for<store::listed>(
      [&](auto handler) { parts_->store->port().list(idle, give_up(), std::move(handler)); });
}

}  // namespace holdfast::detail
