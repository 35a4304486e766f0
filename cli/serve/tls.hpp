// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include <boost/asio/ssl/context.hpp>

namespace holdfast::cli {

/// TLS 1.2 or newer. \param certificate a file with the chain, the server's own first. \param key its file.
/// \throws failure (bad_usage) for files that cannot be used.
[[nodiscard]] std::unique_ptr<boost::asio::ssl::context> open_tls(const std::string& certificate,
                                                                  const std::string& key);

}  // namespace holdfast::cli
