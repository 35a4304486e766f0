// What a client does for several names at once.

#include <functional>
#include <memory>
#include <utility>

#include "api/client_core.hpp"
#include "api/wait_for.hpp"

namespace holdfast::detail {

using lease_core::lease_record_ptr;
using runtime::core_lock;

namespace {
lease_core::set_failure closed() { return {std::nullopt, {errc::closed, "the client was closed"}}; }
}  // namespace

lease_core::set_taken client_core::acquire_set(std::vector<lease_core::wish> wishes,
                                               std::optional<duration> limit, const std::stop_token& stop) {
  return wait_for<lease_core::set_taken>(
      [&](auto handler) -> op_id {
        if (closed_) {
          handler(closed());
          return 0;
        }
        parts_->loop.assert_core_locked();
        const auto until = end_of(limit, wishes.front().claim.wait);
        return first_set + parts_->sets->acquire(std::move(wishes), until, std::move(handler));
      },
      stop, [this](op_id id) { cancel(id); });
}

client_core::op_id client_core::start_acquire_set(std::vector<lease_core::wish> wishes,
                                                  std::optional<duration> limit, on_set_acquired handler) {
  const core_lock now{parts_->loop};
  auto later = outside(std::move(handler));
  if (closed_) {
    later(lease_core::set_taken{closed()});
    return 0;
  }
  const auto until = end_of(limit, wishes.front().claim.wait);
  return first_set + parts_->sets->acquire(std::move(wishes), until, std::move(later));
}

void client_core::share_losses(const std::vector<lease_record_ptr>& leases, const std::stop_source& lost) {
  if (!is_ours()) return;
  bool is_lost = false;
  {
    const core_lock now{parts_->loop};
    for (const lease_record_ptr& each : leases) {
      each->set_lost = lost;
      is_lost = is_lost || each->state() == lease_record::phase::lost;
    }
  }
  if (is_lost) std::stop_source{lost}.request_stop();
}

void client_core::drop_all(const std::vector<lease_record_ptr>& leases) {
  if (!is_ours()) return;
  std::vector<loss_actions> unused;  // destroyed after the core lock is released: they are user code
  unused.reserve(leases.size());
  const core_lock now{parts_->loop};
  for (const lease_record_ptr& each : leases) {
    parts_->leases->release(each, nullptr);
    unused.push_back(forget_loss(each));
  }
}

std::vector<std::error_code> client_core::release_all(const std::vector<lease_record_ptr>& leases) {
  if (!is_ours()) return {leases.size(), errc::closed};
  std::vector<loss_actions> unused;
  unused.reserve(leases.size());
  return wait_for<std::vector<std::error_code>>([&](auto handler) {
    parts_->loop.assert_core_locked();
    struct release_round {
      std::function<void(std::vector<std::error_code>)> done;
      std::vector<std::error_code> codes;
      std::size_t answers_due = 0;
    };
    const auto round = std::make_shared<release_round>();
    round->done = std::move(handler);
    round->codes.resize(leases.size());
    round->answers_due = leases.size();
    for (std::size_t place = 0; place < leases.size(); ++place) {
      parts_->leases->release(leases[place], [round, place](std::error_code code) {
        round->codes[place] = code;
        if (--round->answers_due == 0) round->done(std::move(round->codes));
      });
      unused.push_back(forget_loss(leases[place]));
    }
  });
}

}  // namespace holdfast::detail
