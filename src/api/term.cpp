// SPDX-License-Identifier: Apache-2.0
// What a term does besides its lease: it replaces its value.

#include "holdfast/term.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/access.hpp"
#include "api/start.hpp"
#include "base/metadata.hpp"
#include "holdfast/detail/election_handle.hpp"
#include "holdfast/election.hpp"
#include "lease/refusal.hpp"

namespace holdfast {

namespace {

/// The metadata of a term's claim with another value.
std::shared_ptr<const std::string> with_value(const std::string& metadata, std::string_view value) {
  claimant self = from_metadata(metadata);
  self.value = value;
  ++self.value_revision;
  return std::make_shared<const std::string>(to_metadata(self));
}

std::string text_of_attempt(const lease_core::lease_record_ptr& record) {
  constexpr const char* verb = "cannot replace the value of";
  return record ? lease_core::attempt_on(verb, {&record, 1}) : std::string{verb} + " a term";
}

/// Why a term cannot have the value; empty if it can.
std::optional<failure> problem_of(const lease_core::lease_record_ptr& record,
                                  const std::shared_ptr<detail::client_core>& core, std::string_view value) {
  if (!record) return failure{errc::not_owner, "the term was resigned or moved from"};
  if (!core) return failure{errc::lost, lease_core::reason_of(errc::lost, {&record, 1})};
  if (value.size() <= election::longest_value) return std::nullopt;
  return failure{errc::invalid_argument, "it has " + std::to_string(value.size()) + " bytes, and " +
                                             std::to_string(election::longest_value) + " are allowed"};
}

/// Replaces the metadata of an exclusive hold.
std::optional<failure> annotate(detail::client_core& core, const lease_core::lease_record_ptr& record,
                                const std::shared_ptr<const std::string>& metadata) {
  if (!core.is_ours()) return failure{errc::closed, "the lease belongs to the parent process"};
  return core.wait<std::optional<failure>>(
      [&](const auto& with, auto done) { with.leases.annotate(record, metadata, std::move(done)); });
}

}  // namespace

void term::proclaim(std::string_view value) {
  const auto& record = detail::lease_access::record(lease_);
  const auto core = detail::client_of(record);
  auto failed = problem_of(record, core, value);
  std::shared_ptr<const std::string> metadata;
  if (!failed) {
    metadata = with_value(*metadata_, value);
    failed = annotate(*core, record, metadata);
  }
  if (failed) {
    // Others may see that value all the same, or later. The next one is newer than that.
    if (metadata) metadata_ = with_value(*metadata, value_);
    throw error{failed->code, text_of_attempt(record) + ": " + failed->message};
  }
  value_ = value;
  metadata_ = std::move(metadata);
}

namespace detail {

pending async_proclaim(term held, std::string_view value, std::unique_ptr<completion> handler) {
  struct change {
    lease held;
    election_outcome before;
    election_outcome after;
  };
  const auto all = std::make_shared<change>();
  const auto core = client_of(lease_access::record(term_access::lease_of(held)));
  const std::string attempt = text_of_attempt(lease_access::record(term_access::lease_of(held)));
  all->before = {held.value(), term_access::metadata_of(held), {}};
  all->held = term_access::take(std::move(held));
  const auto end = [shared = std::shared_ptr<completion>{std::move(handler)}, all,
                    attempt](const std::optional<failure>& failed) {
    const auto& shown = failed ? all->before : all->after;
    outcome ended{{}, {}, std::move(all->held), {}, std::make_shared<election_outcome>(shown)};
    if (failed) {
      ended.code = failed->code;
      ended.detail = attempt + ": " + failed->message;
    }
    shared->complete(std::move(ended));
  };
  if (const auto failed = problem_of(lease_access::record(all->held), core, value)) {
    end(failed);
    return {};
  }
  all->after = {std::string{value}, with_value(*all->before.metadata, value), {}};
  // After a failure others may see the new value all the same, or later. The next one is newer than that.
  all->before.metadata = with_value(*all->after.metadata, all->before.value);
  return core->start<std::optional<failure>>(
      [&](const auto& with, auto done) {
        with.leases.annotate(lease_access::record(all->held), all->after.metadata, std::move(done));
      },
      end);
}

}  // namespace detail

}  // namespace holdfast
