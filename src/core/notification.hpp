// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/owner_id.hpp"
#include "holdfast/fencing_token.hpp"

namespace holdfast::store {

enum class notification_kind : std::uint8_t {
  granted,            // a waiter is granted the lock
  revoked,            // a holder's or waiter's claim was ended by somebody else
  look,               // a waiter had better look again
  first,              // nobody waits before a waiter any more
  release_requested,  // somebody asks a holder to release
};

/// The place of a message in the stream of a connection.
struct stream_position {
  std::uint64_t connection = 0;  // its number in this process; zero: what comes there proves nothing
  std::uint64_t message = 0;     // rises with each message
  [[nodiscard]] bool is_behind(const stream_position& earlier) const {
    return connection != 0 && connection == earlier.connection && message > earlier.message;
  }
};

/// A notification of the store about a claim. It is a hint, for anybody may have sent it: a request confirms
/// it before it counts. But a grant may come with a proof, see tickets::acquisition.
struct notification {
  owner_id owner;  // of the claim
  notification_kind kind{};
  fencing_token token;         // zero: whichever the claim has; for `look` alone
  std::uint64_t proof = 0;     // of `granted`, what tickets::acquire has brought to the store; zero: none
  stream_position position{};  // of the message
  // Of one of several servers, with the proof. See tickets::ballot.
  std::uint64_t grant = 0;
  fencing_token accepted{};
  fencing_token fence{};
};

/// A notification with its destination: the client that made the claim.
struct client_notification {
  owner_id client;
  notification message;
};

}  // namespace holdfast::store
