// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "holdfast/fencing_token.hpp"
#include "stores/doctor/examination.hpp"

namespace holdfast::doctor {

/// The numbers that a store draws its fencing tokens from.
struct token_source {
  enum class origin : std::uint8_t {
    unknown,       ///< it does not say the time, or the last transaction
    clock,         ///< microseconds since 1970, by a server or several
    transactions,  ///< of its log
  };
  origin of = origin::unknown;
  // A clock is so far ahead of this host's: that of the server furthest behind, and of the one furthest
  // ahead.
  std::chrono::microseconds least_ahead{};
  std::chrono::microseconds most_ahead{};
  std::uint64_t transaction = 0;  // the last one
  std::uint64_t base = 0;         // the URL's token_base

  /// One more server, see set_clock. Without a clock it is left out.
  void add_clock(const facts& of_server);
  void add_transaction(std::uint64_t last);
};
/// The source of a store that has this host's clock.
[[nodiscard]] token_source own_clock();

/// What an examination of a store has found.
struct report {
  std::vector<finding> findings;
  token_source tokens;
};

/// A store that takes over from another.
struct succession {
  std::string former;               // the other's URL, masked
  token_source before;              // the other's
  fencing_token largest;            // of all names that the other shows, with its token_base
  token_source here;                // this store's
  std::chrono::microseconds now{};  // see host_time
};
/// Since 1970, by this host's clock.
[[nodiscard]] std::chrono::microseconds host_time();

/// Whether every token of the store exceeds those that the former one has granted, and will grant while
/// clients move. If not, the remedy names a token_base that is large enough.
///
/// A former store goes on for 30 days, or 2^40 transactions, until its tokens reach that base. Two clocks go
/// on together: there the lag of the new one may be as long as the shortest ttl, because a holder of the
/// former store whose lease has expired was granted it before.
[[nodiscard]] finding judge(const succession& of);

}  // namespace holdfast::doctor
