#pragma once

#include <chrono>
#include <string>

#include "base/owner_id.hpp"

namespace holdfast::redis {

/// How the clients of one URL speak.
struct dialect {
  std::string prefix = "holdfast:";              // of every lock's key
  std::chrono::milliseconds keep{3600 * 1000};   // how long an unused name's token is remembered
  unsigned replicas = 0;                         // that have to acknowledge a grant
  std::chrono::milliseconds replicas_wait{200};  // how long they may take; everything else waits behind it
};

/// Where words for a client go.
[[nodiscard]] inline std::string channel_of(const owner_id& client) {
  return "holdfast:client:" + client.hex();
}

}  // namespace holdfast::redis
