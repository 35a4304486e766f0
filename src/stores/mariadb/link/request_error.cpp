#include <algorithm>
#include <array>
#include <string>

#include "stores/mariadb/link/handle.hpp"

namespace holdfast::mariadb {

namespace {

/// The classification of an error, by its number in the manual of MariaDB or MySQL.
struct verdict {
  unsigned number;
  errc code;
  const char* advice;
  bool retryable;
  bool over = false;  // the session cannot be used any more
};

constexpr auto busy = "other sessions changed the same rows at the same moment";
constexpr auto entry = "check the user and the password";
constexpr auto grants =
    "grant this user the tables and procedures; 'holdfast schema' prints both, for what is not there yet";
constexpr auto plugin =
    "Holdfast does not allow this authentication plugin here; plugins that show the server the password need "
    "verified TLS (ca=)";
constexpr auto many = "raise max_connections, or use fewer clients";
constexpr auto room = "free disk space at the server";
constexpr auto replica = "the server is a read-only replica, or was set read-only; connect to the primary";
constexpr auto forbidden = "a setting of the server forbids it; if that is read_only, connect to the primary";
constexpr auto reading =
    "transactions are read-only by default here; set tx_read_only (MySQL: transaction_read_only) to OFF, or "
    "connect to the primary";
constexpr auto cut_short = "the statement was interrupted; look for a limit on the time of statements";
constexpr auto gone = "the lock table, or a part of it, is gone";
constexpr auto shape = "the table of this name has other columns; name another table with table=";
constexpr auto ended = "the server ended the session";

/// Of libmariadb, for an authentication plugin that is not allowed. Its message is not used, because it reads
/// the plugin's name from freed memory.
constexpr unsigned not_listed = 5010;

constexpr auto verdicts = std::to_array<verdict>({
    {1213, errc::unavailable, busy, true},
    {1205, errc::unavailable, busy, true},
    {1020, errc::unavailable, busy, true},
    {1180, errc::unavailable, busy, true},  // the commit failed: a cluster certified another transaction
    {1047, errc::unavailable, "the node is not part of the cluster now", true, true},
    {1045, errc::permission_denied, entry, false},
    {1698, errc::permission_denied, entry, false},
    {1275, errc::permission_denied, entry, false},
    {2059, errc::permission_denied, plugin, false},
    {not_listed, errc::permission_denied, plugin, false},
    {1130, errc::permission_denied, "the server accepts no connection from this host", false},
    {1044, errc::permission_denied, grants, false},
    {1142, errc::permission_denied, grants, false},
    {1143, errc::permission_denied, grants, false},
    {1227, errc::permission_denied, grants, false},
    {1370, errc::permission_denied, grants, false},
    {1449, errc::permission_denied,
     "the user who made the procedures does not exist any more; make them anew: holdfast schema URL --apply",
     false},
    {1040, errc::exhausted, many, true, true},
    {1203, errc::exhausted, many, true, true},
    {1226, errc::exhausted, many, true, true},
    {1129, errc::unavailable,
     "the server has blocked this host after many connection errors; run FLUSH HOSTS there", true, true},
    {1461, errc::exhausted, "raise max_prepared_stmt_count", true},
    {3, errc::exhausted, room, true},
    {28, errc::exhausted, room, true},
    {1021, errc::exhausted, room, true},
    {1026, errc::exhausted, room, true},
    {1114, errc::exhausted, room, true},
    {1037, errc::exhausted, "the server is out of memory", true},
    {1041, errc::exhausted, "the server is out of memory", true},
    {1290, errc::unavailable, forbidden, true, true},
    {1644, errc::unavailable, replica, true, true},  // still_writable.sql
    {1792, errc::unavailable, reading, true, true},
    {1836, errc::unavailable, replica, true, true},
    {1317, errc::unavailable, cut_short, true},
    {1969, errc::unavailable, cut_short, true},
    {3024, errc::unavailable, cut_short, true},
    {1243, errc::unavailable, "the prepared statement is gone", true, true},
    {1615, errc::unavailable, "the prepared statement is gone", true, true},
    {1665, errc::unavailable, "set the server's binlog_format to MIXED or ROW", false},
    {1049, errc::unavailable, "create the database, or name another", false},
    {1146, errc::unavailable, gone, true, true},
    {1305, errc::unavailable, gone, true, true},
    {1054, errc::foreign_store, shape, false},
    {1136, errc::foreign_store, shape, false},
    {1318, errc::foreign_store, shape, false},
    {1364, errc::foreign_store, shape, false},
    {1366, errc::foreign_store, shape, false},
    {1406, errc::foreign_store, shape, false},
    {1030, errc::unavailable, "the server's disk failed", true},
    {1194, errc::corrupt_store, "the server's data is damaged", false},
    {1712, errc::corrupt_store, "the server's data is damaged", false},
    {1053, errc::unavailable, ended, true, true},
    {1152, errc::unavailable, ended, true, true},
    {1158, errc::unavailable, ended, true, true},
    {1159, errc::unavailable, ended, true, true},
    {1160, errc::unavailable, ended, true, true},
    {1161, errc::unavailable, ended, true, true},
    {1927, errc::unavailable, ended, true, true},
    {4031, errc::unavailable, ended, true, true},
    {2026, errc::permission_denied, "TLS could not begin; check 'ca', 'cert' and the host's name", false,
     true},
});

constexpr verdict refused{0, errc::unavailable, "the server refused a statement", false};
constexpr verdict lost{0, errc::unavailable, "the connection failed", true, true};

/// Errors in a commit or after one, as far as they are known. Others of the table come before anything is
/// committed, and the procedures then take back what they have begun.
constexpr auto after_commit =
    std::to_array<unsigned>({1026, 1030, 1037, 1041, 1047, 1180, 1194, 1317, 1644, 1712, 1969, 3024});

/// An error that is not known may have come after the commit.
bool may_have_committed(const verdict& v) {
  return v.number == 0 || std::find(after_commit.begin(), after_commit.end(), v.number) != after_commit.end();
}

const verdict& verdict_of(unsigned number) {
  const auto* const found =
      std::find_if(verdicts.begin(), verdicts.end(), [&](const verdict& v) { return v.number == number; });
  if (found != verdicts.end()) return *found;
  const bool of_the_library = number >= 2000 && number < 3000;
  return of_the_library || number == 0 ? lost : refused;
}

std::string one_line(std::string text) {
  std::replace_if(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return text;
}

failure failure_of(const verdict& v, unsigned number, const std::string& sentence) {
  std::string message =
      number == not_listed ? "the client did not give the server the password" : one_line(sentence);
  message.append("; ").append(v.advice).append(" (error ").append(std::to_string(number)).append(")");
  return {v.code, message};
}

}  // namespace

refusal refusal_of(unsigned number, const std::string& sentence, bool was_called) {
  const verdict& v = verdict_of(number);
  failure reason = failure_of(v, number, sentence);
  if (v.over && (v.advice == ended || &v == &lost))
    throw runtime::connection_error{std::move(reason), v.retryable};
  return {{std::move(reason), v.retryable, was_called && may_have_committed(v)}, v.over};
}

runtime::connection_error refused_entry(unsigned number, const std::string& sentence) {
  const verdict& v = verdict_of(number);
  failure reason = failure_of(v, number, sentence);
  // The library has one number for all that goes wrong with TLS.
  if (sentence.find("server does not support it") != std::string::npos) reason.code = errc::unavailable;
  return {std::move(reason), v.retryable};
}

}  // namespace holdfast::mariadb
