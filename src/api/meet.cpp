#include <functional>
#include <optional>
#include <utility>

#include "api/client_core.hpp"
#include "api/wait_for.hpp"

namespace holdfast::detail {

using runtime::core_lock;

lease_core::arrived client_core::meet(const lease_core::rendezvous_ptr& at, lease_core::rendezvous_call call,
                                      std::optional<duration> limit, const std::stop_token& stop) {
  return wait_for<lease_core::arrived>(
      [&](auto handler) -> op_id {
        if (closed_) {
          handler(failure{errc::closed, "the client was closed"});
          return 0;
        }
        parts_->loop.assert_core_locked();
        call.until = end_of(limit, true);
        return first_meeting + parts_->meetings->start(at, call, std::move(handler));
      },
      stop, [this](op_id id) { cancel(id); });
}

client_core::op_id client_core::start_meet(const lease_core::rendezvous_ptr& at,
                                           lease_core::rendezvous_call call, std::optional<duration> limit,
                                           on_arrived handler) {
  const core_lock now{parts_->loop};
  auto later = outside(std::move(handler));
  if (closed_) {
    later(lease_core::arrived{failure{errc::closed, "the client was closed"}});
    return 0;
  }
  call.until = end_of(limit, true);
  return first_meeting + parts_->meetings->start(at, call, std::move(later));
}

void client_core::leave(const lease_core::rendezvous_ptr& at) noexcept {
  if (!is_ours()) return;
  const core_lock now{parts_->loop};
  parts_->meetings->leave(at);
}

}  // namespace holdfast::detail
