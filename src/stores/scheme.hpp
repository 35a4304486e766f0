// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stores/open.hpp"

namespace holdfast::stores {

/// Each of these opens the store of one URL scheme: it reads the URL's options, and puts a protocol and a
/// link together. \throws holdfast::error.
std::unique_ptr<tickets::link> open_memory(store_url& url, const client_options& options,
                                           runtime::event_loop& on);
std::unique_ptr<tickets::link> open_sqlite(store_url& url, const client_options& options,
                                           runtime::event_loop& on);
std::unique_ptr<tickets::link> open_redis(store_url& url, const client_options& options,
                                          runtime::event_loop& on);
std::unique_ptr<tickets::link> open_zookeeper(store_url& url, const client_options& options,
                                              runtime::event_loop& on);
std::unique_ptr<tickets::link> open_postgresql(store_url& url, const client_options& options,
                                               runtime::event_loop& on);
std::unique_ptr<tickets::link> open_mariadb(store_url& url, const client_options& options,
                                            runtime::event_loop& on);

/// Likewise, whether the store keeps its conditions, and how far its tokens have come.
/// \throws holdfast::error, runtime::connection_error.
doctor::report diagnose_memory(store_url& url, const client_options& options);
doctor::report diagnose_sqlite(store_url& url, const client_options& options);
doctor::report diagnose_redis(store_url& url, const client_options& options);
doctor::report diagnose_zookeeper(store_url& url, const client_options& options);
doctor::report diagnose_postgresql(store_url& url, const client_options& options);
doctor::report diagnose_mariadb(store_url& url, const client_options& options);

/// Likewise, the schema of a store in a database server.
stores::database_schema schema_of_postgresql(store_url& url, const client_options& options);
stores::database_schema schema_of_mariadb(store_url& url, const client_options& options);
/// Likewise, what a resource beside the store needs to check fencing tokens.
stores::database_schema fences_of_sqlite(store_url& url, const client_options& options);
stores::database_schema fences_of_redis(store_url& url, const client_options& options);
stores::database_schema fences_of_postgresql(store_url& url, const client_options& options);
stores::database_schema fences_of_mariadb(store_url& url, const client_options& options);
/// Makes either of them.
/// \param subject names it in errors, in static storage: "tables".
/// \param provide creates the tables; gives up as soon as the descriptor can be read.
///        \throws runtime::connection_error.
stores::database_schema make_schema(const store_url& url, std::string_view subject, std::string text,
                                    std::function<bool(int stop)> provide);

}  // namespace holdfast::stores
