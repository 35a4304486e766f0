// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "api/client_core.hpp"
#include "holdfast/client.hpp"
#include "holdfast/detail/handle.hpp"
#include "holdfast/lease.hpp"
#include "holdfast/lease_set.hpp"
#include "lease/lease_record.hpp"

namespace holdfast::detail {

/// Gives the lock types access to one another's private members.
class lease_access {
 public:
  [[nodiscard]] static lease make(lease_core::lease_record_ptr record) { return lease{std::move(record)}; }
  [[nodiscard]] static const lease_core::lease_record_ptr& record(const lease& of) { return of.record_; }
  [[nodiscard]] static lease_core::lease_record_ptr take(lease&& from) { return std::move(from.record_); }
};

class set_access {
 public:
  [[nodiscard]] static lease_set make(std::vector<lease> leases) { return lease_set{std::move(leases)}; }
};

class client_access {
 public:
  [[nodiscard]] static const std::shared_ptr<client_core>& core_of(const client& c) { return c.core_; }
};

/// The client of a lease; null if it has gone, or for an inert lease.
[[nodiscard]] inline std::shared_ptr<client_core> client_of(const lease_core::lease_record_ptr& lease) {
  return lease ? std::static_pointer_cast<detail::client_core>(lease->client->core.lock()) : nullptr;
}

/// Makes an exclusive lease a shared one. \throws holdfast::error.
void downgrade_lease(const lease_core::lease_record_ptr& lease);

}  // namespace holdfast::detail
