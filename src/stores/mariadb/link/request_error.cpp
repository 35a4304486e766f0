// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "stores/mariadb/link/connection.hpp"

namespace holdfast::mariadb {

namespace {

/// Of libmariadb, for an authentication plugin that is not allowed. Its message is not used, because it reads
/// the plugin's name from freed memory.
constexpr unsigned not_listed = 5010;

enum class session : std::uint8_t {
  good,
  spent,  // it cannot be used any more
  ended   // likewise, without an answer
};

/// The classification of errors, by their numbers in the manual of MariaDB or MySQL.
struct verdict {
  std::array<unsigned, 9> numbers{};  // zero: no more
  errc code{};
  const char* advice = "";
  bool retryable = false;
  session after = session::good;
};

template <class... Numbers>
constexpr std::array<unsigned, 9> errors(Numbers... numbers) {
  return {static_cast<unsigned>(numbers)...};
}

constexpr verdict verdicts[]{
    // 1180: the commit failed, because a cluster certified another transaction.
    {errors(1213, 1205, 1020, 1180), errc::unavailable,
     "other sessions changed the same rows at the same moment", true},
    {errors(1047), errc::unavailable, "the node is not part of the cluster now", true, session::spent},
    {errors(1045, 1698, 1275), errc::permission_denied, "check the user and the password", false},
    {errors(2059, not_listed), errc::permission_denied,
     "Holdfast does not allow this authentication plugin here; plugins that show the server the password "
     "need verified TLS (ca=)",
     false},
    {errors(1130), errc::permission_denied, "the server accepts no connection from this host", false},
    {errors(1044, 1142, 1143, 1227, 1370), errc::permission_denied,
     "grant this user the tables and procedures; 'holdfast schema' prints both, for what is not there yet",
     false},
    {errors(1449), errc::permission_denied,
     "the user who made the procedures does not exist any more; make them anew: holdfast schema URL --apply",
     false},
    {errors(1040, 1203, 1226), errc::exhausted, "raise max_connections, or use fewer clients", true,
     session::spent},
    {errors(1129), errc::unavailable,
     "the server has blocked this host after many connection errors; run FLUSH HOSTS there", true,
     session::spent},
    {errors(1461), errc::exhausted, "raise max_prepared_stmt_count", true},
    {errors(3, 28, 1021, 1026, 1114), errc::exhausted, "free disk space at the server", true},
    {errors(1037, 1041), errc::exhausted, "the server is out of memory", true},
    {errors(1290), errc::unavailable,
     "a setting of the server forbids it; if that is read_only, connect to the primary", true,
     session::spent},
    // 1644: still_writable.sql
    {errors(1644, 1836), errc::unavailable,
     "the server is a read-only replica, or was set read-only; connect to the primary", true, session::spent},
    {errors(1792), errc::unavailable,
     "transactions are read-only by default here; set tx_read_only (MySQL: transaction_read_only) to OFF, or "
     "connect to the primary",
     true, session::spent},
    {errors(1317, 1969, 3024), errc::unavailable,
     "the statement was interrupted; look for a limit on the time of statements", true},
    {errors(1243, 1615), errc::unavailable, "the prepared statement is gone", true, session::spent},
    {errors(1665), errc::unavailable, "set the server's binlog_format to MIXED or ROW", false},
    {errors(1049), errc::unavailable, "create the database, or name another", false},
    {errors(1146, 1305), errc::unavailable, "the lock table, or a part of it, is gone", true, session::spent},
    {errors(1054, 1136, 1318, 1364, 1366, 1406), errc::foreign_store,
     "the table of this name has other columns; name another table with table=", false},
    {errors(1030), errc::unavailable, "the server's disk failed", true},
    {errors(1194, 1712), errc::corrupt_store, "the server's data is damaged", false},
    {errors(1053, 1152, 1158, 1159, 1160, 1161, 1927, 4031), errc::unavailable,
     "the server ended the session", true, session::ended},
    {errors(2026), errc::permission_denied, "TLS could not begin; check 'ca', 'cert' and the host's name",
     false, session::spent},
};

constexpr verdict refused{{}, errc::unavailable, "the server refused a statement", false};
constexpr verdict lost{{}, errc::unavailable, "the connection failed", true, session::ended};

/// Errors in a commit or after one, as far as they are known. Others of the table come before anything is
/// committed, and the procedures then take back what they have begun.
constexpr auto after_commit =
    std::to_array<unsigned>({1026, 1030, 1037, 1041, 1047, 1180, 1194, 1317, 1644, 1712, 1969, 3024});

/// An error that is not known may have come after the commit.
bool may_have_committed(const verdict& v, unsigned number) {
  return v.numbers.front() == 0 || std::ranges::find(after_commit, number) != after_commit.end();
}

const verdict& verdict_of(unsigned number) {
  for (const verdict& v : verdicts)
    if (number != 0 && std::ranges::find(v.numbers, number) != v.numbers.end()) return v;
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
  if (v.after == session::ended) throw runtime::connection_error{std::move(reason), v.retryable};
  return {{std::move(reason), v.retryable, was_called && may_have_committed(v, number)},
          v.after == session::spent};
}

runtime::connection_error refused_entry(unsigned number, const std::string& sentence) {
  const verdict& v = verdict_of(number);
  failure reason = failure_of(v, number, sentence);
  // The library has one number for all that goes wrong with TLS.
  if (sentence.find("server does not support it") != std::string::npos) reason.code = errc::unavailable;
  return {std::move(reason), v.retryable};
}

}  // namespace holdfast::mariadb
