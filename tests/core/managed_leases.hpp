// SPDX-License-Identifier: Apache-2.0
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
using lease_core::taken;
using phase = lease_core::lease_record::phase;

/// A lease manager over a link that the test answers for, on virtual time.
class managed_leases : public testing::Test {
 protected:
  lease_core::op_id ask(const store::claim& wanted = a_claim(), std::optional<store::time_point> limit = {}) {
    lease_core::op_id id = 0;
    it.time.turn([&] {
      id = all.acquire(std::make_shared<const store::claim>(wanted), limit, [this](taken t) {
        ended_at = it.time.now();
        ends.push_back(std::move(t));
      });
    });
    return id;
  }
  /// Asks, and is granted at once.
  lease_record_ptr hold(const store::claim& wanted = a_claim(), std::uint64_t token = 7) {
    ask(wanted);
    it.answer(granted_at(token), it.link.open() - 1);
    return std::get<lease_record_ptr>(ends.back());
  }
  void release(const lease_record_ptr& lease) {
    it.time.turn([&] { all.release(lease, [this](std::error_code ec) { released.push_back(ec); }); });
  }
  [[nodiscard]] std::error_code failure_at_end() const {
    const auto* failed = ends.empty() ? nullptr : std::get_if<failure>(&ends.back());
    return failed == nullptr || lease_core::is_refusal(*failed) ? std::error_code{} : failed->code;
  }
  [[nodiscard]] bool not_had_at_end() const {
    const auto* failed = ends.empty() ? nullptr : std::get_if<failure>(&ends.back());
    return failed != nullptr && lease_core::is_refusal(*failed);
  }
  [[nodiscard]] bool is_being_released(const lease_record_ptr& lease) const {
    for (std::size_t i = 0; i < it.link.open(); ++i) {
      const tickets::request& asked_for = it.link.request(i);
      if (tickets::is_release(asked_for) && form_of(asked_for).owner == lease->hold.owner) return true;
    }
    return false;
  }

  runner_fixture it;
  std::vector<lease_record_ptr> losses;
  std::function<void(const lease_record_ptr&)> also_on_loss;
  std::vector<taken> ends;
  store::time_point ended_at;
  std::vector<std::error_code> released;
  void cancel(lease_core::op_id which) {
    it.time.turn([&] { operations.cancel(which, {errc::cancelled, "cancelled"}); });
  }
  void close() {
    it.time.turn([&] {
      operations.close({errc::closed, "closed"});
      all.close();
    });
  }

  lease_core::operations operations;
  lease_core::lease_manager all{it.time, it.port, operations, [this](const lease_record_ptr& lease) {
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
