// What a server and a store have to keep for locks to exclude one another: see docs/stores/mariadb.md.

#include "stores/mariadb/link/diagnosis.hpp"

namespace holdfast::mariadb {

namespace {

using doctor::condition;
using doctor::grade;

constexpr std::string_view no_writes = "it takes no writes: no lock can be acquired or renewed";
constexpr std::string_view flush = "innodb_flush_log_at_trx_commit is {flush}";
constexpr std::string_view set_flush =
    "SET GLOBAL innodb_flush_log_at_trx_commit = 1, and in the option file";
constexpr std::string_view log = "there is a binary log, and sync_binlog is {sync_binlog}";
constexpr std::string_view set_log = "SET GLOBAL sync_binlog = 1, and in the option file";
constexpr std::string_view method = "innodb_flush_method is {flush_method}";
constexpr std::string_view set_method = "innodb_flush_method = O_DIRECT in the option file, and a restart";
constexpr std::string_view crash =
    "a crash takes back the last grants that were answered, and they are granted again";
constexpr std::string_view machine =
    "a crash of the machine takes back the last grants that were answered, and they are granted again";
constexpr std::string_view session_crash =
    "a crash takes back the last grants that were answered, and ends all sessions: tokens may repeat, if the "
    "clock is set "
    "back meanwhile";
constexpr std::string_view session_machine =
    "a crash of the machine takes back the last grants that were answered, and ends all sessions: tokens may "
    "repeat, if "
    "the clock is set back meanwhile";
constexpr std::string_view torn =
    "a power loss may damage the tables, unless the file system writes pages in one piece";
constexpr std::string_view set_twice = "innodb_doublewrite = ON in the option file, and a restart";
constexpr std::string_view promoted =
    "a replica that is promoted may not know the last grants, and grants them again";
constexpr std::string_view join_refused =
    "the server refuses calls for which it expects to read more rows (error 1104): with a low limit no lock "
    "can be "
    "acquired";
constexpr std::string_view set_join = "SET GLOBAL max_join_size = DEFAULT, and in the option file";
constexpr std::string_view apply = "holdfast schema URL --apply, as a user with the rights";
constexpr std::string_view absent = "there is no {table}, or this user may not call its procedures";

constexpr condition of_server[]{
    {"version", grade::kept, "version", "{product} {version}"},
    {"role", grade::broken, "transaction_read_only=yes", "its transactions are READ ONLY", no_writes,
     "SET GLOBAL tx_read_only = OFF (MySQL: transaction_read_only), and in the option file"},
    {"role", grade::broken, "force_recovery!=0", "innodb_force_recovery is {force_recovery}",
     "from 4 on it takes no writes; below, damaged rows may be lost",
     "the option file without it, and a restart"},
    {"role", grade::broken, "innodb_read_only=yes", "innodb_read_only is on", no_writes,
     "the option file without it, and a restart"},
    {"role", grade::kept, "is_writable=yes", "it takes writes"},
    {"role", grade::broken, "read_only", "read_only is {read_only}", no_writes,
     "let the store's URL lead to the primary; or SET GLOBAL read_only = OFF, if this is it"},

    // It keeps what it has answered. MariaDB's 3 is 1 without the grouping of commits; MySQL has none. With
    // mode=session a crash that takes back grants ends all sessions, too.
    {"persistence", grade::warning, "flushes=no session=yes", flush, session_crash, set_flush},
    {"persistence", grade::broken, "flushes=no", flush, crash, set_flush},
    {"persistence", grade::warning, "log_bin=yes sync_binlog!=1 session=yes", log, session_machine, set_log},
    {"persistence", grade::broken, "log_bin=yes sync_binlog!=1", log, machine, set_log},
    {"persistence", grade::warning, "is_careless=yes session=yes", method, session_machine, set_method},
    {"persistence", grade::broken, "is_careless=yes", method, machine, set_method},
    {"persistence", grade::warning, "doublewrite=OFF", "innodb_doublewrite is off", torn, set_twice},
    {"persistence", grade::warning, "doublewrite=0", "innodb_doublewrite is off", torn, set_twice},
    {"persistence", grade::kept, "flush", flush},
    {"binary log", grade::kept, "log_bin=no", "there is none"},
    {"binary log", grade::broken, "binlog_format=STATEMENT", "binlog_format is STATEMENT",
     "the server refuses what READ COMMITTED writes: no lock can be acquired",
     "SET GLOBAL binlog_format = MIXED, and in the option file"},
    {"binary log", grade::kept, "binlog_format", "binlog_format is {binlog_format}"},
    // What sessions of Holdfast do not set for themselves.
    {"limits", grade::kept, "big_selects=yes", "statements may read as many rows as they need"},
    {"limits", grade::broken, "max_join_size<1000000", "max_join_size is {max_join_size}", join_refused,
     set_join},
    {"limits", grade::warning, "max_join_size", "max_join_size is {max_join_size}", join_refused, set_join},
    {"replicas", grade::kept, "log_bin=no", "there is no binary log, and so no replica"},
    {"replicas", grade::unknown, "log_bin product=MySQL", "MySQL does not say how many replicas it has",
     promoted, "SHOW REPLICAS; no failover to a replica that lags"},
    {"replicas", grade::kept, "log_bin slaves_connected=0", "no replica is connected"},
    {"replicas", grade::warning, "log_bin slaves_connected", "it has {slaves_connected:replica}", promoted,
     "fail over to none that lags; SET GLOBAL rpl_semi_sync_master_enabled = ON loses less"},
    {"cluster", grade::warning, "wsrep_cluster_size>=2",
     "it is one of {wsrep_cluster_size} nodes of a Galera cluster",
     "that was not tested; each node ends leases by its own clock: clients at several nodes may hold at once",
     "one node in the URLs of all clients"},

    {"schema", grade::broken, "foreign", "{foreign}", "clients refuse it (errc::foreign_store)",
     "name another table with table= in the URL"},
    {"schema", grade::broken, "untrusted",
     "the procedure {untrusted} would run with the rights of its caller",
     "clients do not call it (errc::permission_denied)", apply},
    {"schema", grade::broken, "refusal", "the procedures do not work: {refusal}",
     "nobody can lock, and leases are lost at their deadlines", apply},
    {"schema", grade::broken, "layout=other",
     "{table} has layout {layout_there}, and this Holdfast needs layout {own_layout}",
     "clients refuse it (errc::foreign_store)", "name another table with table= in the URL"},
    {"schema", grade::broken, "layout=none create=no",
     "there is no {table}, or this user may not call its procedures, and create=0",
     "locks fail with errc::unavailable", apply},
    {"schema", grade::kept, "layout=none procedures=0",
     "there is no {table}, or this user may not call its procedures; the first client that locks makes it, "
     "if it may"},
    {"schema", grade::warning, "layout=none", absent,
     "the next client that locks makes it, if it may: others fail", apply},
    {"schema", grade::kept, "layout current=yes", "{table} is that of this version"},
    {"schema", grade::warning, "layout", "the procedures of {table} are those of another version",
     "they work, without what has been mended since if they are older",
     "with the newest version: holdfast schema URL --apply"},
    // A user sees the procedures that it may call.
    {"rights", grade::broken, "procedures>=1 lacking",
     "the user {user} may not call {lacking}, or it is missing",
     "what needs it fails with errc::permission_denied; see docs/stores/mariadb.md",
     "GRANT EXECUTE ON PROCEDURE each TO {user_name}; holdfast schema URL --apply"},
    {"rights", grade::kept, "procedures>=1", "the user {user} may call all procedures"},
    {"access", grade::unknown, "sees_writers=no", "this user may not see who else may write the tables",
     "whoever may write the tables may end everybody's locks, and nobody needs to",
     "GRANT SELECT ON mysql.db TO {user_name}; GRANT SELECT ON mysql.tables_priv TO {user_name}"},
    {"access", grade::kept, "writers=0",
     "no other user may write the tables by a grant on this database or its tables"},
};

constexpr std::string_view may_end =
    "whoever may write or replace the tables or procedures may end everybody's locks, and nobody needs to";
constexpr std::string_view programs =
    "programs with this URL may write or replace the tables and procedures, and end everybody's locks; to "
    "lock, EXECUTE "
    "is enough";
constexpr std::string_view of_columns = "SHOW GRANTS FOR {name}; REVOKE what names columns of {object}";

/// Of a right that nobody needs.
constexpr condition of_excess[]{
    {"access", grade::warning, "is_own=yes part=columns",
     "the user {account} of this URL has {rights} of columns on {object}", programs, of_columns},
    {"access", grade::warning, "is_own=yes", "the user {account} of this URL has {rights} on {object}",
     programs, "REVOKE {rights} ON {object} FROM {name}; GRANT EXECUTE ON {schema}.* TO {name}"},
    {"access", grade::warning, "part=columns", "the user {account} has {rights} of columns on {object}",
     may_end, of_columns},
    {"access", grade::warning, "", "the user {account} has {rights} on {object}", may_end,
     "REVOKE {rights} ON {object} FROM {name}"},
};

}  // namespace

std::span<const condition> conditions() { return of_server; }
std::span<const condition> excess_conditions() { return of_excess; }

}  // namespace holdfast::mariadb
