// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "holdfast/error.hpp"
#include "holdfast/export.hpp"
#include "holdfast/options.hpp"

namespace holdfast {

// Stores in database servers consist of tables and routines. A client makes them when it finds none, unless
// its URL says `create=0`. Where its user may not, a user with the right to do so uses these functions.

/// Returns the statements that make the tables and routines of this URL's store, for the server's own client
/// to run as they are (`psql -f`, or `mariadb` from its standard input). They may be run again: tables and
/// rows stay as they are, and on PostgreSQL routines of an older version are replaced. Asks no server; may be
/// called from any thread.
/// \param url of a PostgreSQL or MariaDB store.
/// \throws holdfast::error errc::invalid_url; errc::invalid_argument for a store that needs none.
[[nodiscard]] HOLDFAST_EXPORT std::string schema(std::string_view url);

/// Makes them as the user of the URL, even with `create=0`. On PostgreSQL it also brings routines of an older
/// version up to date, puts back those that were changed, and grants the rights that the URL names
/// (`grant_lock`, `grant_look`). Blocks for at most the URL's `connect_timeout`, and for the time that
/// looking a host's name up takes. May be called from any thread.
/// \param options the password, if it is not in the URL; the other options do not matter.
/// \return false if everything was there already, as this version has it.
/// \throws holdfast::error as `schema`, and errc::unavailable, errc::permission_denied, errc::exhausted;
///         errc::foreign_store if something else has that name, or the store has another layout.
HOLDFAST_EXPORT bool apply_schema(std::string_view url, const client_options& options = {});

// A resource checks fencing tokens where its data is: in a database, or in Redis. It need not be the store of
// the locks. See docs/fencing.md.

/// Returns what the resource needs there, for the server's own client: on PostgreSQL and MariaDB a table and
/// a routine, on SQLite a table with triggers, on Redis a library of functions. They may be run again.
/// Asks no server; may be called from any thread.
/// \param url of the database, as of a store. On PostgreSQL and MariaDB the schema of its `table` counts.
/// \throws holdfast::error errc::invalid_url; errc::invalid_argument for ZooKeeper, Redlock and `memory:`.
[[nodiscard]] HOLDFAST_EXPORT std::string fence_schema(std::string_view url);

/// Makes it as the user of the URL: on Redis from version 7 on, in the primary that Sentinels name, or in all
/// primaries of a cluster. On PostgreSQL it lets the roles of `grant_lock` call the routine. Blocks as
/// `apply_schema` does.
/// \param options the password, if it is not in the URL; the other options do not matter.
/// \return false if everything was there already, as this version has it.
/// \throws holdfast::error as `fence_schema`, and errc::unavailable, errc::permission_denied,
///         errc::exhausted; errc::foreign_store if something else has one of the names.
HOLDFAST_EXPORT bool apply_fence_schema(std::string_view url, const client_options& options = {});

}  // namespace holdfast
