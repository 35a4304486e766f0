#pragma once

#include <functional>
#include <gtest/gtest.h>
#include <optional>
#include <system_error>
#include <variant>
#include <vector>

#include "core/runner_fixture.hpp"
#include "lease/lease_manager.hpp"

namespace holdfast::test {

using lease_core::lease_record_ptr;
using lease_core::not_had;
using lease_core::taken;
using phase = lease_core::lease_record::phase;

/// A lease manager over a link that the test answers for, on virtual time.
class managed_leases : public testing::Test {
 protected:
  static lease_core::wish a_wish(std::uint8_t owner = 1) { return {a_claim(owner), margin, true}; }

  lease_core::lease_manager::claim_id ask(const lease_core::wish& wish = a_wish(),
                                          std::optional<store::time_point> limit = {}) {
    lease_core::lease_manager::claim_id id = 0;
    it.time.turn([&] {
      id = all.acquire(wish, limit, [this](taken t) {
        ended_at = it.time.now();
        ends.push_back(std::move(t));
      });
    });
    return id;
  }
  /// Asks, and is granted at once.
  lease_record_ptr hold(const lease_core::wish& wish = a_wish(), std::uint64_t token = 7) {
    ask(wish);
    it.answer(granted_at(token), it.link.open() - 1);
    return std::get<lease_record_ptr>(ends.back());
  }
  void release(const lease_record_ptr& lease) {
    it.time.turn([&] { all.release(lease, [this](std::error_code ec) { released.push_back(ec); }); });
  }
  [[nodiscard]] std::error_code failure_at_end() const {
    const auto* failed = ends.empty() ? nullptr : std::get_if<failure>(&ends.back());
    return failed == nullptr ? std::error_code{} : failed->code;
  }
  [[nodiscard]] bool not_had_at_end() const {
    return !ends.empty() && std::holds_alternative<not_had>(ends.back());
  }
  [[nodiscard]] bool is_being_released(const lease_record_ptr& lease) const {
    for (std::size_t i = 0; i < it.link.open(); ++i) {
      const tickets::request& asked_for = it.link.request(i);
      if (tickets::is_release(asked_for.kind) && asked_for.owner == lease->hold.owner) return true;
    }
    return false;
  }

  runner_fixture it;
  std::vector<lease_record_ptr> losses;
  std::function<void(const lease_record_ptr&)> also_on_loss;
  std::vector<taken> ends;
  store::time_point ended_at;
  std::vector<std::error_code> released;
  lease_core::lease_manager all{it.time, it.port, [this](const lease_record_ptr& lease) {
                                  EXPECT_EQ(lease->state(), phase::lost);
                                  EXPECT_TRUE(lease->reason) << "it has its reason by then";
                                  losses.push_back(lease);
                                  if (also_on_loss) also_on_loss(lease);
                                  if (lease->reason == errc::closed) return;  // closing gives back by itself
                                  it.time.defer_callback([this, lease] {
                                    EXPECT_FALSE(is_being_released(lease))
                                        << "given back before its user was told";
                                    all.after_loss(lease);
                                  });
                                }};
};

}  // namespace holdfast::test
