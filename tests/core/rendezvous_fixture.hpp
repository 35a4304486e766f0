#pragma once

#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "base/metadata.hpp"
#include "core/managed_leases.hpp"
#include "lease/rendezvous.hpp"

namespace holdfast::test {

/// The calls of a latch and a barrier over a link that the test answers for, on virtual time.
class rendezvous_fixture : public managed_leases {
 protected:
  rendezvous_fixture() {
    also_on_loss = [this](const lease_record_ptr& lease) { calls.lost(lease); };
  }
  static lease_core::rendezvous_ptr object(lease_core::rendezvous::type type, std::ptrdiff_t expected) {
    const auto at = std::make_shared<lease_core::rendezvous>();
    at->kind = type;
    at->expected = expected;
    at->terms = {a_claim(), margin, true};
    at->terms.claim.mode = mode::permits;
    at->terms.claim.capacity = expected;
    return at;
  }
  void start(const lease_core::rendezvous_ptr& at, std::int64_t count = 0, bool waits = true,
             std::optional<duration> limit = {}) {
    it.time.turn([&] {
      lease_core::rendezvous_call call{count, waits, std::nullopt};
      if (limit) call.until = it.time.now() + *limit;
      last =
          calls.start(at, call, [this](lease_core::arrived result) { results.push_back(std::move(result)); });
    });
  }
  /// What a claim that is asked for stands for.
  [[nodiscard]] store::attendance attendance_at(std::size_t which = 0) const {
    return store::attendance_in(from_metadata(*it.link.request(which).metadata).value.value()).value();
  }
  [[nodiscard]] static tickets::reply seen(std::ptrdiff_t capacity,
                                           const std::vector<store::attendance>& attendances) {
    lock_state s;
    s.capacity = capacity;
    for (const store::attendance& each : attendances) {
      claim_state c;
      c.mode = mode::permits;
      c.permits = 1;
      c.claimant.value = store::to_value(each);
      s.holders.push_back(c);
    }
    return std::optional{s};
  }
  [[nodiscard]] std::error_code code() const {
    const auto* const failed = results.empty() ? nullptr : std::get_if<failure>(&results.back());
    return failed == nullptr ? std::error_code{} : failed->code;
  }
  [[nodiscard]] bool is_complete() const {
    const auto* const seen = results.empty() ? nullptr : std::get_if<arrivals>(&results.back());
    return seen != nullptr && seen->is_complete();
  }

  lease_core::rendezvous_calls calls{it.time, it.port, all};
  std::vector<lease_core::arrived> results;
  lease_core::rendezvous_calls::call_id last = 0;
};

}  // namespace holdfast::test
