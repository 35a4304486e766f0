// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "stores/doctor/examination.hpp"

/// What a server and a store have to keep for locks to exclude one another, beside what all database servers
/// have to: see docs/stores/postgresql.md.
namespace holdfast::postgresql::conditions {

using doctor::condition;
using doctor::grade;

inline constexpr std::string_view forgets =
    "a standby that is promoted may not know the last grants, and grants them again";
inline constexpr std::string_view revoke = "REVOKE {rights} ON {kind} {full} FROM {grantee_name}";

inline constexpr condition server_conditions[]{
    {"pooler", grade::kept, "keeps_sessions=yes",
     "the pooler kept the session, while another client had one of its own"},
    {"pooler", grade::unknown, "pooler_unseen",
     "whether the pooler keeps sessions cannot be seen, since another client got none: {pooler_unseen}",
     "if it does not, claims that wait are not notified", "let the pooler have a session more"},

    {"persistence", grade::broken, "!careless fsync!=on", "fsync is off",
     "a power loss may damage the tables, and two may hold without a bound",
     "ALTER SYSTEM SET fsync = on; SELECT pg_reload_conf()"},
    {"persistence", grade::warning, "!careless full_page_writes!=on", "full_page_writes is off",
     "a power loss may damage the tables, unless the file system writes pages in one piece",
     "ALTER SYSTEM SET full_page_writes = on; SELECT pg_reload_conf()"},
    {"persistence", grade::kept, "!careless fsync",
     "fsync is on, synchronous_commit is {synchronous_commit}"},

    // Failover to synchronous standbys alone.
    {"replicas", grade::kept, "standby=false !synchronous_standby_names standbys=0 idle_slots=0",
     "it has no standby, and so no failover"},
    {"replicas", grade::warning, "standby=false !synchronous_standby_names",
     "it has {standbys:standby} and {idle_slots:idle replication slot}, and none is synchronous", forgets,
     "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (NAME, ...)', with each application_name of "
     "pg_stat_replication; SELECT pg_reload_conf(); all commits then wait for one: have two"},
    {"replicas", grade::warning, "standby=false synchronous_commit!=on synchronous_commit!=remote_apply",
     "synchronous_standby_names is set, and synchronous_commit is {synchronous_commit}", forgets,
     "ALTER SYSTEM SET synchronous_commit = on; SELECT pg_reload_conf()"},
    {"replicas", grade::unknown, "standby=false standbys>=1 sees_all=false",
     "it has {standbys:standby}, and this user may not see of which kind",
     "without a synchronous one all commits wait, and no lock can be acquired or renewed",
     "GRANT pg_read_all_stats TO {user}"},
    {"replicas", grade::broken, "standby=false synchronous_standbys<wanted",
     "synchronous_standby_names asks for {wanted:standby}, of which {synchronous_standbys} connected",
     "all commits wait for more: no lock can be acquired or renewed",
     "start the standby; or, without it, ALTER SYSTEM SET synchronous_standby_names to fewer, or ALTER "
     "SYSTEM RESET synchronous_standby_names; SELECT pg_reload_conf()"},
    {"replicas", grade::kept, "standby=false",
     "it has {standbys:standby}, of which {synchronous_standbys} synchronous: fail over to no other"},

    {"password", grade::warning, "password_unused=yes",
     "the client gives a password, and the server did not ask for it",
     "a wrong one is let in, too, until the day on which the server asks for it",
     "scram-sha-256 in place of trust or peer in the line of pg_hba.conf; or give no password"},

    {"rights", grade::broken, "uses_schema=false", "the user {user} lacks USAGE on the schema {schema}",
     "locks fail with errc::permission_denied", "{grant}"},
    {"access", grade::kept, "excess=0",
     "no other role but superusers may change tables, routines or schema, but by the routines"},
};

/// The conditions of one right that nobody needs.
inline constexpr condition excess_conditions[]{
    {"access", grade::warning, "kind=SCHEMA", "{grantee} has {rights} on {objects}",
     "such a role may put functions of the same names beside Holdfast's, which then fails", revoke},
    {"access", grade::warning, "kind=FUNCTION", "{grantee} has {rights} on {objects}",
     "whoever may execute it may lock, or end everybody's locks", revoke},
    {"access", grade::warning, "writes=true", "{grantee} has {rights} on {objects}",
     "whoever may write the tables may end everybody's locks, and nobody needs to", revoke},
    {"access", grade::warning, "", "{grantee} has {rights} on {objects}",
     "whoever may read the tables sees the ids by which clients are notified, and nobody needs to", revoke},
};

}  // namespace holdfast::postgresql::conditions
