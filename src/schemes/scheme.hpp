#pragma once

#include <memory>

#include "runtime/backend.hpp"

namespace holdfast::schemes {

/// Each of these opens the store of one URL scheme: it reads the URL's options, and puts a protocol and a
/// link together. \throws holdfast::error.
std::unique_ptr<runtime::backend> open_memory(store_url& url, const client_options& options,
                                              runtime::loop& on);
std::unique_ptr<runtime::backend> open_sqlite(store_url& url, const client_options& options,
                                              runtime::loop& on);
std::unique_ptr<runtime::backend> open_redis(store_url& url, const client_options& options,
                                             runtime::loop& on);

}  // namespace holdfast::schemes
