#pragma once

#include <memory>

#include "api/client_core.hpp"
#include "holdfast/client.hpp"
#include "holdfast/detail/handle.hpp"
#include "holdfast/lease.hpp"
#include "lease/lease_record.hpp"
#include "runtime/process.hpp"

namespace holdfast::detail {

/// Gives the lock types access to one another's private members.
class lease_access {
 public:
  [[nodiscard]] static lease make(lease_core::lease_record_ptr record) { return lease{std::move(record)}; }
  [[nodiscard]] static const lease_core::lease_record_ptr& record(const lease& of) { return of.record_; }
  [[nodiscard]] static lease_core::lease_record_ptr take(lease&& from) { return std::move(from.record_); }
};

class client_access {
 public:
  [[nodiscard]] static const std::shared_ptr<client_core>& core_of(const client& c) { return c.core_; }
};

/// Every lease is made known to its client here, before any other thread can have it.
inline void set_client(lease_record& lease, const std::weak_ptr<client_core>& client) {
  lease.client = client;
  lease.generation = runtime::process_generation();
}
/// The client of a lease; null where it has gone, or for an inert lease.
[[nodiscard]] inline std::shared_ptr<client_core> client_of(const lease_core::lease_record_ptr& lease) {
  return lease ? std::static_pointer_cast<detail::client_core>(lease->client.lock()) : nullptr;
}

/// "cannot lock 'stock/sku-42' on sqlite:/var/lib/app.db: the disk is full"
[[nodiscard]] inline error explained(const failure& cause, const std::string& attempt,
                                     const client_core& owner) {
  return {cause.code, attempt + " on " + owner.url() + ": " + cause.message};
}

/// The end of an asynchronous operation that never began.
inline pending complete_with(const error& reason, const std::shared_ptr<completion>& handler) {
  handler->complete({reason.code(), reason.detail(), {}});
  return {};
}

}  // namespace holdfast::detail
