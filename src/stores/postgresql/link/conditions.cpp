// What a server and a store have to keep for locks to exclude one another: see docs/stores/postgresql.md.

#include "stores/postgresql/link/diagnosis.hpp"

namespace holdfast::postgresql {

namespace {

using doctor::condition;
using doctor::grade;

constexpr std::string_view no_writes = "it takes no writes: no lock can be acquired or renewed";
constexpr std::string_view refused = "clients refuse it (errc::foreign_store)";
constexpr std::string_view denied = "locks fail with errc::permission_denied";
constexpr std::string_view apply = "holdfast schema URL --apply, as a user with the rights";
constexpr std::string_view grant =
    "holdfast schema 'URL&grant_lock={user}' --apply, with the URL of the role {maker}";
constexpr std::string_view forgets =
    "a standby that is promoted does not know the last grants, and grants them again";
constexpr std::string_view own_commits = "synchronous_commit is off";
constexpr std::string_view own_remedy =
    "ALTER ROLE {role_name} SET synchronous_commit = on, or likewise ALTER DATABASE, "
    "ALTER SYSTEM";
constexpr std::string_view of_role = "synchronous_commit is off for the role {careless}, which may lock";
constexpr std::string_view role_remedy =
    "ALTER ROLE {careless_name} SET synchronous_commit = on, or likewise ALTER ROLE ... IN DATABASE";
constexpr std::string_view of_database =
    "synchronous_commit is off for the database {careless_database}, and so for every role without a setting "
    "of its own";
constexpr std::string_view database_remedy = "ALTER DATABASE {database_name} SET synchronous_commit = on";

constexpr condition of_server[]{
    {"version", grade::kept, "version", "PostgreSQL {version}"},
    {"role", grade::broken, "standby=true", "it is a standby", no_writes,
     "let the store's URL lead to the primary: host=a,b&target_session_attrs=read-write"},
    {"role", grade::broken, "read_only=on", "default_transaction_read_only is on for this user",
     "it takes no writes of this user: no lock can be acquired or renewed",
     "ALTER ROLE {role_name} SET default_transaction_read_only = off, or likewise ALTER DATABASE, ALTER "
     "SYSTEM"},
    {"role", grade::kept, "standby", "it is a primary"},
    {"encoding", grade::kept, "encoding=UTF8", "the database's is UTF8"},
    {"encoding", grade::kept, "encoding=SQL_ASCII", "the database's is SQL_ASCII"},
    {"encoding", grade::broken, "encoding", "the database's is {encoding}",
     "it cannot represent every name: clients refuse it (errc::foreign_store)",
     "CREATE DATABASE locks ENCODING 'UTF8' TEMPLATE template0, for the locks"},

    // It keeps what it has answered. With mode=session a crash that takes back grants ends all sessions, too.
    {"persistence", grade::broken, "fsync!=on", "fsync is off",
     "a power loss may damage the tables, and two may hold without a bound",
     "ALTER SYSTEM SET fsync = on; SELECT pg_reload_conf()"},
    {"persistence", grade::warning, "synchronous_commit=off session=yes", own_commits,
     "a crash takes back the last grants that were answered, and ends all sessions: tokens may repeat, if "
     "the clock is "
     "set back meanwhile",
     own_remedy},
    {"persistence", grade::broken, "synchronous_commit=off", own_commits,
     "a crash takes back the last grants that were answered, and they are granted again", own_remedy},
    {"persistence", grade::warning, "careless session=yes", of_role,
     "a crash takes back the last grants of that role, and ends all sessions: tokens may repeat, if the "
     "clock is set back "
     "meanwhile",
     role_remedy},
    {"persistence", grade::broken, "careless", of_role,
     "a crash takes back the last grants of that role, and they are granted again", role_remedy},
    {"persistence", grade::warning, "careless_database session=yes", of_database,
     "a crash takes back the last grants of other roles, and ends all sessions: tokens may repeat, if the "
     "clock is set "
     "back meanwhile",
     database_remedy},
    {"persistence", grade::broken, "careless_database", of_database,
     "a crash takes back the last grants of other roles, and they are granted again", database_remedy},
    {"persistence", grade::warning, "full_page_writes!=on", "full_page_writes is off",
     "a power loss may damage the tables, unless the file system writes pages in one piece",
     "ALTER SYSTEM SET full_page_writes = on; SELECT pg_reload_conf()"},
    {"persistence", grade::kept, "fsync", "fsync is on, synchronous_commit is {synchronous_commit}"},

    // Failover to synchronous standbys alone.
    {"replicas", grade::kept, "standby=false !synchronous_standby_names standbys=0 idle_slots=0",
     "it has no standby, and so no failover"},
    {"replicas", grade::warning, "standby=false !synchronous_standby_names standbys=0",
     "no standby is connected, in spite of {idle_slots:replication slot}", forgets,
     "start the standby, and have commits wait for it (synchronous_standby_names); or, if there is none any "
     "more: SELECT "
     "pg_drop_replication_slot({idle_slot})"},
    {"replicas", grade::warning, "standby=false !synchronous_standby_names",
     "it has {standbys:standby}, and none is synchronous", forgets,
     "ALTER SYSTEM SET synchronous_standby_names = {standby_setting}; SELECT pg_reload_conf(); all commits "
     "of this server "
     "then wait for it: have two"},
    {"replicas", grade::warning, "standby=false synchronous_commit!=on synchronous_commit!=remote_apply",
     "synchronous_standby_names is set, and synchronous_commit is {synchronous_commit}",
     "a standby that is promoted may not know the last grants, and grants them again",
     "ALTER SYSTEM SET synchronous_commit = on; SELECT pg_reload_conf()"},
    {"replicas", grade::unknown, "standby=false standbys>=1 sees_all=false",
     "it has {standbys:standby}, and this user may not see of which kind",
     "without a synchronous one all commits wait, and no lock can be acquired or renewed",
     "GRANT pg_read_all_stats TO {role_name}"},
    {"replicas", grade::broken, "standby=false synchronous_standbys<wanted",
     "synchronous_standby_names asks for {wanted:standby}, of which {synchronous_standbys} connected",
     "all commits wait for more: no lock can be acquired or renewed",
     "start the standby; or, without it, ALTER SYSTEM SET synchronous_standby_names to fewer, or ALTER "
     "SYSTEM RESET "
     "synchronous_standby_names; SELECT pg_reload_conf()"},
    {"replicas", grade::kept, "standby=false",
     "it has {standbys:standby}, of which {synchronous_standbys} synchronous: fail over to no other"},

    {"pooler", grade::broken, "line=switched",
     "a connection pooler switches the session between transactions",
     "notifications and prepared calls get lost: clients refuse it (errc::unavailable)",
     "connect directly, or set the pooler's pool_mode = session"},
    {"pooler", grade::broken, "line=pooled pooled=no", "a connection pooler is in front of the server",
     "clients refuse it (errc::unavailable), because it may switch sessions",
     "connect directly, or add pooler=session to the URL if it pools sessions"},
    {"pooler", grade::kept, "line=pooled", "there is one, which kept this session"},
    {"pooler", grade::kept, "line", "there is none"},
    {"password", grade::warning, "password_unused=yes",
     "the client gives a password, and the server did not ask for it",
     "a wrong one is let in, too, until the day on which the server asks for it",
     "scram-sha-256 in place of trust or peer in the line of pg_hba.conf; or give no password"},

    {"owner", grade::broken, "stranger", "{stranger}, whom clients do not trust",
     "they run nothing of that role, and refuse the store (errc::foreign_store)",
     "ALTER TABLE, FUNCTION or SCHEMA ... OWNER TO a trusted role; or owner=ROLE in the URL, if that role is "
     "trusted"},
    {"owner", grade::kept, "has_owners=yes", "all objects belong to roles that are trusted"},
    {"schema", grade::broken, "foreign_table", "the table {foreign_table} is not Holdfast's", refused,
     "name another table with table= in the URL"},
    {"schema", grade::broken, "other_layout",
     "{table} has layout {other_layout}, and this Holdfast needs layout {own_layout}", refused,
     "name another table with table= in the URL"},
    {"schema", grade::broken, "newer=unusable", "{table} was made by a newer Holdfast",
     "this version refuses it (errc::foreign_store)", "update this Holdfast"},
    {"schema", grade::kept, "newer=usable",
     "{table} was made by a newer Holdfast, whose routines serve this one"},
    {"schema", grade::unknown, "!stranger may_ask=no",
     "this user may not execute {layout_routine} or {revision_routine}",
     "the version of {table} is not known, and clients of this user fail",
     "GRANT EXECUTE ON FUNCTION {layout_name}(), {revision_name}() TO PUBLIC, as the owner"},
    {"schema", grade::kept, "!stranger table !shortage",
     "{table} is complete, and of revision {own_revision}"},
    // The next client that locks makes what is missing, if it may.
    {"schema", grade::kept, "!stranger is_there=no create=yes creates=true",
     "{shortage}; the first client that locks makes it"},
    {"schema", grade::warning, "!stranger shortage create=yes creates=true", "{shortage}",
     "the next client that locks makes it, if it may: others fail", apply},
    {"schema", grade::broken, "!stranger shortage create=yes", "{shortage}, and this user may not make it",
     denied, apply},
    {"schema", grade::broken, "!stranger shortage", "{shortage}, and create=0",
     "locks fail with errc::unavailable", apply},
    {"rights", grade::broken, "is_there=yes uses_schema=false",
     "the user {user} lacks USAGE on the schema {schema}", denied, grant},
    {"rights", grade::broken, "is_there=yes lacking looks=yes", "the user {user} may not execute {lacking}",
     "the user may look; locks fail with errc::permission_denied", grant},
    {"rights", grade::broken, "is_there=yes lacking", "the user {user} may not execute {lacking}", denied,
     grant},
    {"rights", grade::kept, "is_there=yes user", "the user {user} may execute all routines"},
    {"access", grade::kept, "excess=0",
     "no other role but superusers may change tables, routines or schema, but by the routines"},
};

/// Of a right that nobody needs.
constexpr condition of_excess[]{
    {"access", grade::warning, "kind=ROLE objects=pg_write_all_data", "{grantee} is a member of {objects}",
     "such a role may write the tables, and end everybody's locks", "REVOKE {full} FROM {grantee_name}"},
    {"access", grade::warning, "kind=ROLE", "{grantee} is a member of {objects}",
     "such a role may act as the owner of Holdfast's objects: replace routines, and write the tables",
     "REVOKE {full} FROM {grantee_name}"},
    {"access", grade::warning, "kind=SCHEMA", "{grantee} has {rights} on {objects}",
     "such a role may put functions of the same names beside Holdfast's, which then fails",
     "REVOKE {rights} ON SCHEMA {full} FROM {grantee_name}"},
    {"access", grade::warning, "kind=FUNCTION", "{grantee} has {rights} on {objects}",
     "whoever may execute it may lock, or end everybody's locks",
     "REVOKE {rights} ON FUNCTION {full} FROM {grantee_name}"},
    {"access", grade::warning, "writes=true", "{grantee} has {rights} on {objects}",
     "whoever may write the tables may end everybody's locks, and nobody needs to",
     "REVOKE {rights} ON TABLE {full} FROM {grantee_name}"},
    {"access", grade::warning, "", "{grantee} has {rights} on {objects}",
     "whoever may read the tables sees the ids by which clients are notified, and nobody needs to",
     "REVOKE {rights} ON TABLE {full} FROM {grantee_name}"},
};

}  // namespace

std::span<const condition> conditions() { return of_server; }
std::span<const condition> excess_conditions() { return of_excess; }

}  // namespace holdfast::postgresql
