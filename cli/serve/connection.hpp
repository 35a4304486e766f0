// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>

#include "serve/connection_set.hpp"
#include "serve/exchange.hpp"

namespace holdfast::cli {

/// How long a client may take before its connection ends.
struct connection_limits {
  std::chrono::milliseconds handshake{10'000};
  std::chrono::milliseconds first_byte{10'000};  ///< of the first request
  std::chrono::milliseconds request{10'000};     ///< from its first byte to its last
  std::chrono::milliseconds idle{60'000};        ///< without a request
  /// For a piece of a reply: a slow client may take long for a large reply, one that has stopped is given up.
  std::chrono::milliseconds piece{30'000};
  std::chrono::milliseconds shutdown{2'000};

  static constexpr std::size_t piece_size = 64 << 10;  ///< bytes
};

/// Serves the requests of a client until either side ends the connection.
/// \param tls null: plain HTTP.
void serve_connection(boost::asio::ip::tcp::socket socket, boost::asio::ssl::context* tls,
                      request_handler& answers, connection_set& connections,
                      const connection_limits& limits = {});

}  // namespace holdfast::cli
