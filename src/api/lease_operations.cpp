// Asynchronous operations on leases: release, downgrade, wait for the loss.

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/access.hpp"
#include "holdfast/detail/handle.hpp"

namespace holdfast::detail {

namespace {

/// The error of an operation on a lease without a client.
outcome without_client(const lease_core::lease_record_ptr& record, const std::string& attempt) {
  if (record) return {errc::lost, attempt + ": the lease ended with its client", {}};
  return {errc::not_owner, attempt + ": the lease holds nothing, because it was released or moved from", {}};
}

std::string attempt_on(const char* verb, const lease_core::lease_record_ptr& record) {
  return std::string{verb} + (record ? " '" + record->hold.name + "'" : " a lease");
}

pending pending_of(const std::shared_ptr<client_core>& owner, client_core::op_id id) {
  pending p;
  if (id != 0) p.owner = owner;
  p.id = id;
  return p;
}

}  // namespace

pending async_release(lease held, std::unique_ptr<completion> handler) {
  const auto record = lease_access::take(std::move(held));
  const auto core = client_of(record);
  std::string attempt = attempt_on("cannot release", record);
  if (!core) {
    handler->complete(without_client(record, attempt));
    return {};
  }
  attempt += " on " + core->url();
  return pending_of(core,
                    core->start_release(record, [shared = std::shared_ptr<completion>{std::move(handler)},
                                                 attempt](const std::optional<failure>& failed) {
                      if (failed) {
                        shared->complete({failed->code, attempt + ": " + failed->message, {}});
                      } else {
                        shared->complete({});
                      }
                    }));
}

pending async_downgrade(lease held, std::unique_ptr<completion> handler) {
  const auto record = lease_access::take(std::move(held));
  const auto core = client_of(record);
  std::string attempt = attempt_on("cannot downgrade the hold of", record);
  if (!core) {
    handler->complete(without_client(record, attempt));
    return {};
  }
  attempt += " on " + core->url();
  return pending_of(
      core, core->start_downgrade(record, [shared = std::shared_ptr<completion>{std::move(handler)}, attempt,
                                           held = std::make_shared<lease>(lease_access::make(record))](
                                              const std::optional<failure>& failed) {
        outcome ended{{}, {}, std::move(*held)};
        if (failed) {
          ended.code = failed->code;
          ended.detail = attempt + ": " + failed->message;
        }
        shared->complete(std::move(ended));
      }));
}

pending async_wait_lost(const lease& held, std::unique_ptr<completion> handler) {
  const auto& record = lease_access::record(held);
  const auto core = client_of(record);
  std::string attempt = attempt_on("cannot wait for the loss of", record);
  if (!core) {
    // A lease that outlived its client was lost when the client was closed.
    auto ended = without_client(record, attempt);
    if (record) ended.code = errc::closed;
    handler->complete(std::move(ended));
    return {};
  }
  attempt += " on " + core->url();
  return pending_of(core,
                    core->start_wait_lost(record, [shared = std::shared_ptr<completion>{std::move(handler)},
                                                   attempt](const std::optional<failure>& failed) {
                      if (failed) {
                        shared->complete({failed->code, attempt + ": " + failed->message, {}});
                      } else {
                        shared->complete({});
                      }
                    }));
}

}  // namespace holdfast::detail
