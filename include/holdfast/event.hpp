// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "holdfast/boot_clock.hpp"
#include "holdfast/export.hpp"
#include "holdfast/fencing_token.hpp"
#include "holdfast/lease.hpp"
#include "holdfast/options.hpp"
#include "holdfast/state.hpp"

namespace holdfast {

/// What has happened in a client. Later versions may add kinds.
enum class event_kind : std::uint8_t {
  connected,       ///< to a server; also again
  connect_failed,  ///< a server could not be connected to; the client tries again
  disconnected,    ///< from a server, not by closing the client
  queued,          ///< a claim waits behind others
  granted,         ///< a claim became a lease
  refused,         ///< others hold the name, and the claim was not to wait in the queue
  failed,          ///< a claim ended with an error
  withdrawn,       ///< the claim was given up by this client: wait limit, cancellation, closing
  trouble,         ///< a claim goes on without an answer, or the store grants nothing to anybody for a while
  released,        ///< given up by its holder, whatever the store answers
  renewal_late,    ///< half of the ttl was over without a confirmed renewal
  lost,            ///< a lease was lost
};

/// The name of the kind in lower case, such as "renewal_late".
[[nodiscard]] HOLDFAST_EXPORT std::string_view to_string(event_kind kind) noexcept;

/// One event; see client_options::observer. Members that a kind does not name are empty.
///
/// Events are those of single claims at the store. A set of locks makes one for each name, and again where a
/// name was not free: each attempt on each name has its own `granted` and `released`, or `refused`, `failed`
/// or `withdrawn`, also if the set is acquired later, or never.
struct event {
  event_kind kind{};            ///< what has happened
  boot_clock::time_point at{};  ///< when
  std::string name{};           ///< of the lock; empty for the kinds of connections
  /// Of the claim; after a downgrade that of the lease. Means nothing where `name` is empty.
  holdfast::mode mode = holdfast::mode::exclusive;
  std::int64_t permits = 0;  ///< of a claim for permits
  fencing_token token{};     ///< granted, released, renewal_late, lost
  std::string label{};       ///< lock_options::label of the claim
  /// granted, and refused, failed, withdrawn: how long the claim waited, from its first request. released,
  /// lost: how long the lease was held. renewal_late: how long the confirmation is overdue.
  duration elapsed{};
  duration ttl{};  ///< of the lease: granted, released, renewal_late, lost
  /// queued: whether no other claim waits before this one. Otherwise at least one does.
  bool is_first = false;
  std::optional<loss_reason> loss{};  ///< lost: the reason
  /// connect_failed, disconnected, failed, trouble: the error; failed also where the wait limit passed
  /// without an answer of the store. withdrawn: errc::timeout, errc::cancelled or errc::closed. lost:
  /// errc::lost or errc::closed. refused: errc::timeout. renewal_late: errc::unavailable while no renewal is
  /// confirmed; none where it was confirmed late.
  std::error_code code{};
  /// For people: the server that is meant, the cause; without secrets. What a server has said in it may
  /// contain any bytes: escape them where a terminal or a parser reads them.
  std::string text{};
  /// How many events before this one were dropped, because the observer was too slow.
  std::uint64_t dropped = 0;
};

}  // namespace holdfast
