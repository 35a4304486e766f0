// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/export.hpp"
#include "holdfast/fencing_token.hpp"
#include "holdfast/options.hpp"

namespace holdfast {

/// The mode in which a name is held.
enum class mode : std::uint8_t {
  exclusive,  ///< by one
  shared,     ///< by any number of readers, and no writer
  permits,    ///< by holders whose permits add up to at most the capacity
};

/// "exclusive", "shared" or "permits".
[[nodiscard]] HOLDFAST_EXPORT std::string_view to_string(mode m) noexcept;

/// The process that claims, for people who inspect a lock. The client that claims chooses all of it, so never
/// trust it.
struct claimant {
  std::string host;                    ///< its host name
  std::int64_t pid = 0;                ///< its process id there; zero where it is not known
  std::string program;                 ///< client_options::program
  std::string label;                   ///< lock_options::label; of a foreign holder the text that it wrote
  std::optional<std::string> value{};  ///< of a candidate of an election (see `election`); empty otherwise
  std::uint64_t value_revision = 0;    ///< how often the leader has replaced its value
  /// Of a holder that was asked to release: the reason, which may be empty (see client::request_release).
  std::optional<std::string> release_request{};
  /// The holder has released, and the name rests until the claim ends: see lock_options::at_least. Known of
  /// exclusive holds.
  bool released = false;
  /// The job that the process belongs to: the host and the process id of the `holdfast run` or `holdfast
  /// elect` whose command it is, or is part of. It finds them in the environment as HOLDFAST_JOB. Empty
  /// otherwise.
  std::string job{};
};

/// One holder or waiter of a name, as the store had it when it was asked.
struct claim_state {
  std::string owner;  ///< the claim's random id, 32 hexadecimal digits; of a foreign holder its own text
  holdfast::mode mode = holdfast::mode::exclusive;  ///< held or waited for
  std::int64_t permits = 0;                         ///< for mode::permits: how many of the capacity
  fencing_token token;                              ///< zero for a foreign holder, which has none
  duration age{};  ///< since it was granted (holders) or queued (waiters); on ZooKeeper since it was queued
  duration expires_in{};  ///< until it ends unless it is renewed; zero where a foreign holder has no ttl
  holdfast::claimant claimant;  ///< the process behind it
};

/// What one server says of a name, where the store is several servers of which a majority decides, and this
/// one differs from the majority or is not heard.
struct server_note {
  std::string server;   ///< its host and port
  std::string text;     ///< for people: in what it differs, or why it is not counted
  bool answers = true;  ///< false: it is out of reach, or refuses
};

/// One name, as the store had it when it was asked.
struct lock_state {
  std::string name;                  ///< of the lock, as it was asked for
  std::int64_t capacity = 0;         ///< of a semaphore; zero for every other lock
  fencing_token last_token;          ///< the largest ever drawn for the name
  std::vector<claim_state> holders;  ///< in the order of their grants
  std::vector<claim_state> waiters;  ///< in the order in which they will be served
  duration paused_for{};             ///< how long the store still grants nothing to anybody; zero: it grants
  std::string pause_reason;          ///< why, for people; empty where it grants
  std::vector<server_note> notes;  ///< of servers that differ or are not heard; only where a majority decides
};

/// One line of a listing.
struct lock_summary {
  std::string name;                                 ///< of the lock
  holdfast::mode mode = holdfast::mode::exclusive;  ///< of the oldest hold; without one mode::permits for a
                                                    ///< semaphore, else mode::exclusive
  std::int64_t capacity = 0;                        ///< of a semaphore; zero for every other lock
  std::uint64_t holders = 0;                        ///< how many claims hold it
  std::uint64_t waiters = 0;                        ///< how many claims wait for it
  fencing_token last_token;                         ///< the largest ever drawn for the name
  duration held_for{};                              ///< the age of the oldest hold; zero when nobody holds
  fencing_token holder_token;                       ///< of the oldest hold; zero when nobody holds
  claimant holder;                                  ///< the process behind the oldest hold
  std::vector<server_note> notes;                   ///< see lock_state::notes
};

}  // namespace holdfast
