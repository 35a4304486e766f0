// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "stores/doctor/examination.hpp"

/// What a server and a store have to keep for locks to exclude one another, beside what all database servers
/// have to: see docs/stores/mariadb.md.
namespace holdfast::mariadb::conditions {

using doctor::condition;
using doctor::grade;

inline constexpr std::string_view promoted =
    "a replica that is promoted may not know the last grants, and grants them again";

inline constexpr condition server_conditions[]{
    {"persistence", grade::warning, "!careless torn_pages=yes", "innodb_doublewrite is off",
     "a power loss may damage the tables, unless the file system writes pages in one piece",
     "innodb_doublewrite = ON in the option file, and a restart"},
    {"persistence", grade::kept, "!careless flush", "innodb_flush_log_at_trx_commit is {flush}"},
    // What sessions of Holdfast do not set for themselves.
    {"limits", grade::kept, "big_selects=yes", "statements may read as many rows as they need"},
    {"limits", grade::warning, "max_join_size", "max_join_size is {max_join_size}",
     "the server refuses calls for which it expects to read more rows (error 1104): leases may be lost",
     "SET GLOBAL max_join_size = DEFAULT, and in the option file"},
    {"replicas", grade::kept, "log_bin=no", "there is no binary log, and so no replica"},
    {"replicas", grade::unknown, "log_bin product=MySQL", "MySQL does not say how many replicas it has",
     promoted, "SHOW REPLICAS; no failover to a replica that lags"},
    {"replicas", grade::kept, "log_bin slaves_connected=0", "no replica is connected"},
    {"replicas", grade::warning, "log_bin slaves_connected", "it has {slaves_connected:replica}", promoted,
     "fail over to none that lags; SET GLOBAL rpl_semi_sync_master_enabled = ON loses less"},
    {"access", grade::unknown, "sees_writers=no", "this user may not see who else may write the tables",
     "whoever may write the tables may end everybody's locks, and nobody needs to",
     "GRANT SELECT ON mysql.db TO {user_name}; GRANT SELECT ON mysql.tables_priv TO {user_name}"},
    {"access", grade::kept, "writers=0",
     "nobody else may write the tables by a grant on this database or its tables"},
};

/// The conditions of one right that nobody needs.
inline constexpr condition excess_conditions[]{
    {"access", grade::warning, "", "the user {account} has {rights}{range} on {object}",
     "whoever may write or replace the tables or procedures may end everybody's locks, and nobody needs to",
     "{remedy}"},
};

}  // namespace holdfast::mariadb::conditions
