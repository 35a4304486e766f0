// SPDX-License-Identifier: Apache-2.0
// Asynchronous operations on leases: release, downgrade, wait for the loss.

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/access.hpp"
#include "api/start.hpp"
#include "holdfast/detail/handle.hpp"
#include "lease/refusal.hpp"

namespace holdfast::detail {

namespace {

/// The error of an operation on a lease without a client.
outcome without_client(const lease_core::lease_record_ptr& record, const std::string& attempt) {
  if (record) return {errc::lost, attempt + ": " + lease_core::reason_of(errc::lost, {&record, 1}), {}};
  return {errc::not_owner, attempt + ": the lease holds nothing, because it was released or moved from", {}};
}

std::string attempt_on(const char* verb, const lease_core::lease_record_ptr& record) {
  return record ? lease_core::attempt_on(verb, {&record, 1}) : std::string{verb} + " a lease";
}

/// The outcome of an operation that only succeeds or fails.
outcome outcome_of(const std::optional<failure>& failed, const std::string& attempt, lease held = {}) {
  if (!failed) return {{}, {}, std::move(held)};
  return {failed->code, attempt + ": " + failed->message, std::move(held)};
}

}  // namespace

pending async_release(lease held, std::unique_ptr<completion> handler) {
  const auto record = lease_access::take(std::move(held));
  const auto core = client_of(record);
  const std::string attempt = attempt_on("cannot release", record);
  if (!core) {
    handler->complete(without_client(record, attempt));
    return {};
  }
  return core->start<std::optional<failure>>(
      [&](const auto& with, auto done) {
        core->release(with, record, [record, done = std::move(done)](std::error_code code) {
          if (!code) return done(std::nullopt);
          done(failure{code, lease_core::reason_of(code, {&record, 1})});
        });
      },
      [shared = std::shared_ptr<completion>{std::move(handler)},
       attempt](const std::optional<failure>& failed) { shared->complete(outcome_of(failed, attempt)); });
}

pending async_downgrade(lease held, std::unique_ptr<completion> handler) {
  const auto record = lease_access::take(std::move(held));
  const auto core = client_of(record);
  const std::string attempt = attempt_on("cannot downgrade the hold of", record);
  if (!core) {
    handler->complete(without_client(record, attempt));
    return {};
  }
  return core->start<std::optional<failure>>(
      [&](const auto& with, auto done) { with.leases.downgrade(record, std::move(done)); },
      [shared = std::shared_ptr<completion>{std::move(handler)}, attempt,
       held = std::make_shared<lease>(lease_access::make(record))](const std::optional<failure>& failed) {
        shared->complete(outcome_of(failed, attempt, std::move(*held)));
      });
}

pending async_wait_lost(const lease& held, std::unique_ptr<completion> handler) {
  const auto& record = lease_access::record(held);
  const auto core = client_of(record);
  const std::string attempt = attempt_on("cannot wait for the loss of", record);
  if (!core) {
    // A lease that outlived its client was lost when the client was closed.
    auto ended = without_client(record, attempt);
    if (record) ended.code = errc::closed;
    handler->complete(std::move(ended));
    return {};
  }
  return core->start_wait_lost(
      record, [shared = std::shared_ptr<completion>{std::move(handler)}, attempt](
                  const std::optional<failure>& failed) { shared->complete(outcome_of(failed, attempt)); });
}

}  // namespace holdfast::detail
