// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/failure.hpp"
#include "core/journal.hpp"
#include "lease/lease_record.hpp"

namespace holdfast::lease_core {

// What happens to claims and leases, for the journal: counted always, told where somebody observes. Called
// under the core lock. Without a journal, as in tests, they do nothing.

/// The claim became this lease.
void report_granted(events::journal* to, const lease_record& lease, duration waited) noexcept;
/// The claim ended without a lease.
/// \param withdrawn by this client; else by the store's answer.
void report_unsuccessful(events::journal* to, const store::claim& claim, duration waited,
                         const failure& reason, bool withdrawn) noexcept;
void report_released(events::journal* to, const lease_record& lease, store::time_point now) noexcept;
/// Once the record has its reason.
void report_lost(events::journal* to, const lease_record& lease, store::time_point now) noexcept;
/// The renewal that is due is not confirmed, and half of the ttl is over.
void report_overdue(events::journal* to, const lease_record& lease, store::time_point now) noexcept;
/// A renewal was confirmed, which was planned, or which its user has asked for.
void report_renewed(events::journal* to, const lease_record& lease, store::time_point now) noexcept;

}  // namespace holdfast::lease_core
