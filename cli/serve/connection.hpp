#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>

#include "serve/connection_set.hpp"
#include "serve/service.hpp"

namespace holdfast::cli {

/// Serves the requests of a client until either side ends the connection.
/// \param tls null: plain HTTP.
void serve_connection(boost::asio::ip::tcp::socket socket, boost::asio::ssl::context* tls, service& answers,
                      connection_set& connections);

}  // namespace holdfast::cli
