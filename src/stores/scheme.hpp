#pragma once

#include <memory>

#include "runtime/backend.hpp"

namespace holdfast::schemes {

/// Each of these opens the store of one URL scheme: it reads the URL's options, and puts a protocol and a
/// link together. \throws holdfast::error.
std::unique_ptr<runtime::backend> open_memory(store_url& url, const client_options& options,
                                              runtime::event_loop& on);
std::unique_ptr<runtime::backend> open_sqlite(store_url& url, const client_options& options,
                                              runtime::event_loop& on);
std::unique_ptr<runtime::backend> open_redis(store_url& url, const client_options& options,
                                             runtime::event_loop& on);
std::unique_ptr<runtime::backend> open_zookeeper(store_url& url, const client_options& options,
                                                 runtime::event_loop& on);
std::unique_ptr<runtime::backend> open_postgresql(store_url& url, const client_options& options,
                                                  runtime::event_loop& on);
std::unique_ptr<runtime::backend> open_mariadb(store_url& url, const client_options& options,
                                               runtime::event_loop& on);

/// Likewise, the layout of a store in a database server.
runtime::layout layout_of_postgresql(store_url& url, const client_options& options);
runtime::layout layout_of_mariadb(store_url& url, const client_options& options);

}  // namespace holdfast::schemes
