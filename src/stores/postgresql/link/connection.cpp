// SPDX-License-Identifier: Apache-2.0
#include "stores/postgresql/link/connection.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <poll.h>

#include "stores/postgresql/protocol/schema.hpp"
#include "stores/sql/protocol/notification.hpp"

namespace holdfast::postgresql {

namespace {

// Types by their numbers in pg_type, which never change.
enum type : Oid { oid_bool = 16, oid_bytea = 17, oid_int8 = 20, oid_int4 = 23, oid_text = 25 };

constexpr std::size_t pipeline_depth = 1024;  // calls in flight may fill the buffers of both ends
constexpr std::size_t int8_size = 8;

/// Numbers are sent with their highest byte first.
std::string to_network(std::int64_t n) {
  std::string bytes(int8_size, '\0');
  for (std::size_t i = 0; i < int8_size; ++i) {
    bytes[i] = static_cast<char>(static_cast<std::uint64_t>(n) >> (8 * (int8_size - 1 - i)));
  }
  return bytes;
}

std::int64_t from_network(std::string_view bytes) {
  std::uint64_t n = (static_cast<unsigned char>(bytes.at(0)) & 0x80U) != 0 ? ~std::uint64_t{0} : 0;
  for (const char c : bytes) n = (n << 8U) | static_cast<unsigned char>(c);
  return static_cast<std::int64_t>(n);
}

Oid type_of(const sql::parameter& p) {
  switch (p.type) {
    case sql::parameter::kind::number: return oid_int8;
    case sql::parameter::kind::flag: return oid_bool;
    case sql::parameter::kind::text:
    case sql::parameter::kind::list: return oid_text;
    case sql::parameter::kind::bytes: return oid_bytea;
  }
  return oid_bytea;
}

/// The text of an array.
std::string array_of(const std::vector<sql::parameter>& items) {
  std::string text = "{";
  for (const sql::parameter& each : items) {
    if (text.size() > 1) text += ',';
    text += '"';
    if (each.type == sql::parameter::kind::number) text += std::to_string(each.number);
    if (each.type == sql::parameter::kind::bytes) text += "\\\\x";
    for (const char c : each.text) {
      constexpr std::string_view digits = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(c);
      if (each.type == sql::parameter::kind::bytes) {
        text.append({digits[byte >> 4U], digits[byte & 0xFU]});
      } else {
        if (c == '"' || c == '\\') text += '\\';
        text += c;
      }
    }
    text += '"';
  }
  return text += '}';
}

std::string value_of(const sql::parameter& p) {
  switch (p.type) {
    case sql::parameter::kind::number: return to_network(p.number);
    case sql::parameter::kind::flag: return {static_cast<char>(p.number)};
    case sql::parameter::kind::list: return array_of(p.items);
    case sql::parameter::kind::text:
    case sql::parameter::kind::bytes: return p.text;
  }
  return {};
}

sql::value value_at(const PGresult* r, int row, int column) {
  if (PQgetisnull(r, row, column) != 0) return std::monostate{};
  const std::string_view bytes{PQgetvalue(r, row, column),
                               static_cast<std::size_t>(PQgetlength(r, row, column))};
  switch (PQftype(r, column)) {
    case oid_int8:
    case oid_int4:
    case oid_bool: return from_network(bytes);
    default: return std::string{bytes};
  }
}

std::vector<sql::row> rows_of(const PGresult* r) {
  std::vector<sql::row> rows(static_cast<std::size_t>(PQntuples(r)));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (int c = 0; c < PQnfields(r); ++c) rows[i].push_back(value_at(r, static_cast<int>(i), c));
  }
  return rows;
}

/// Parses "owner token", see sql::notification_of.
std::optional<store::notification> read_notification(std::string_view said) {
  constexpr std::size_t digits = owner_id::size * 2;
  if (said.size() <= digits) return std::nullopt;
  const auto owner = owner_id::from_hex(said.substr(0, digits));
  std::int64_t token = 0;
  const auto read = std::from_chars(said.data() + digits + 1, said.data() + said.size(), token);
  if (!owner || read.ec != std::errc{}) return std::nullopt;
  return sql::notification_of(*owner, token);
}

/// Parses the payload of a change of one name: the number of its bucket, see track.sql. Anybody may send any
/// text to the channel. Other numbers are dropped, so that they cannot fill the memory.
std::optional<std::int64_t> read_bucket(std::string_view said) {
  std::int64_t bucket = 0;
  const auto read = std::from_chars(said.data(), said.data() + said.size(), bucket);
  if (read.ec != std::errc{} || read.ptr != said.data() + said.size()) return std::nullopt;
  if (bucket < 1 || bucket > sql::postgresql::name_buckets) return std::nullopt;
  return bucket;
}

}  // namespace

connection::connection(handle session, const owner_id& client, const sql::naming& names, duration idle_limit,
                       session_use use, std::string backend)
    : sql::connection{client},
      session_{std::move(session)},
      names_{names},
      use_{use},
      backend_{std::move(backend)},
      idle_limit_{idle_limit} {
  if (PQsetnonblocking(session_.get(), 1) != 0 || PQenterPipelineMode(session_.get()) != 1) break_off();
}

void connection::break_off() const { throw runtime::connection_error{failure_of(session_.get())}; }

short connection::events() const { return static_cast<short>(unsent_ ? POLLIN | POLLOUT : POLLIN); }

std::size_t connection::depth() const { return use_ == session_use::shared ? 1 : pipeline_depth; }

/// Planned once in each session. The server also keeps the plans inside its routines.
void connection::prepare(const sql::call& request, const std::vector<Oid>& types) {
  const std::string text = sql::postgresql::statement_of(request, names_);
  if (PQsendPrepare(session_.get(), request.routine.c_str(), text.c_str(), static_cast<int>(types.size()),
                    types.data()) != 1) {
    break_off();
  }
}

/// For each commit with a notification, the server wakes every session that listens to any channel. So only a
/// client that may have a claim listens. It begins before it sends the call that makes a claim, so that it
/// misses no notification.
void connection::hear_while_needed(const sql::call& next) {
  const auto now = boot_clock::now();
  if (!next.keeps) {
    if (hears_ && now > needed_until_) begin_or_end_hearing(false);
    return;
  }
  longest_ttl_ = std::max(longest_ttl_, *next.keeps);
  constexpr duration most = std::chrono::hours{24 * 365};  // for claims that end with their session
  needed_until_ = std::max(needed_until_, now + idle_limit_ + std::min(longest_ttl_, most));
  if (!hears_) begin_or_end_hearing(true);
}

void connection::begin_or_end_hearing(bool on) {
  const std::string statement =
      (on ? "LISTEN \"" : "UNLISTEN \"") + sql::postgresql::channel_of(client()) + '"';
  send_alone(statement);
  if (PQpipelineSync(session_.get()) != 1) break_off();
  due_.push_back({"", false, true});
  hears_ = on;
}

/// A statement without parameters.
void connection::send_alone(const std::string& statement) {
  if (PQsendQueryParams(session_.get(), statement.c_str(), 0, nullptr, nullptr, nullptr, nullptr, 1) != 1) {
    break_off();
  }
}

void connection::send(const sql::call& request) {
  std::vector<Oid> types;
  std::vector<std::string> values;
  std::vector<const char*> bytes;
  std::vector<int> sizes;
  types.reserve(request.in.size());
  values.reserve(request.in.size());
  bytes.reserve(request.in.size());
  sizes.reserve(request.in.size());
  for (const sql::parameter& p : request.in) {
    types.push_back(type_of(p));
    values.push_back(value_of(p));
    bytes.push_back(values.back().data());
    sizes.push_back(static_cast<int>(values.back().size()));
  }
  const std::vector<int> binary(values.size(), 1);
  const auto count = static_cast<int>(values.size());
  bool is_new = false;
  int sent = 0;
  if (use_ != session_use::shared) hear_while_needed(request);
  if (use_ != session_use::own) {
    if (use_ == session_use::kept) send_alone("SELECT pg_catalog.pg_backend_pid()");
    send_alone(sql::postgresql::settling_of(names_));
    sent = PQsendQueryParams(session_.get(), sql::postgresql::statement_of(request, names_).c_str(), count,
                             types.data(), bytes.data(), sizes.data(), binary.data(), 1);
  } else {
    is_new = prepared_.insert(request.routine).second;
    if (is_new) prepare(request, types);
    sent = PQsendQueryPrepared(session_.get(), request.routine.c_str(), count, bytes.data(), sizes.data(),
                               binary.data(), 1);
  }
  if (sent != 1 || PQpipelineSync(session_.get()) != 1) break_off();
  due_.push_back({request.routine, is_new, false, use_ == session_use::kept});
  flush();
}

void connection::flush() {
  const int left = PQflush(session_.get());
  if (left < 0) break_off();
  unsent_ = left > 0;
}

std::vector<sql::answer> connection::proceed() {
  if (PQconsumeInput(session_.get()) != 1) break_off();
  flush();
  while (!due_.empty() && PQisBusy(session_.get()) == 0) {
    const result r{PQgetResult(session_.get())};
    if (r) take_in(r.get());
  }
  if (PQstatus(session_.get()) != CONNECTION_OK) break_off();
  take_in_notifications();
  return std::exchange(answers_, {});
}

void connection::take_in(const PGresult* r) {
  switch (PQresultStatus(r)) {
    case PGRES_TUPLES_OK:
      if (std::exchange(due_.front().locates, false)) check_place(r);
      coming_ = rows_of(r);
      break;
    case PGRES_PIPELINE_SYNC:
      if (due_.front().own) {
        if (std::holds_alternative<store::request_error>(std::exchange(coming_, {}))) hears_ = false;
      } else {
        answers_.push_back(std::exchange(coming_, {}));
      }
      if (due_.front().preparing) prepared_.erase(due_.front().routine);  // that failed
      due_.pop_front();
      break;
    case PGRES_COMMAND_OK: due_.front().preparing = false; break;
    case PGRES_PIPELINE_ABORTED: break;  // for the reason given before
    default: take_refusal(r);
  }
}

/// The pooler may have given the session to others. With the next connection claims look again, and listen.
void connection::check_place(const PGresult* r) const {
  if (PQntuples(r) == 1 && value_at(r, 0, 0) == sql::value{std::stoll(backend_)}) return;
  throw runtime::connection_error{{errc::unavailable, switched_session}};
}

/// After an error the server still answers. If it ended the session instead, the outcome is unknown.
void connection::take_refusal(const PGresult* r) {
  if (is_bare() && is_missing(r)) {
    coming_ = std::vector<sql::row>{};
    return;
  }
  refusal no = refusal_of(r);
  if (use_ != session_use::own && may_be_left(r)) no.reason.reason.message += left_by_others;
  const runtime::connection_error end{no.reason.reason, no.reason.retryable};
  if (no.fatal) throw runtime::connection_error{end};
  if (no.over) end_ = end;
  coming_ = no.reason;
}

void connection::take_in_notifications() {
  while (const std::unique_ptr<PGnotify, finisher> said{PQnotifies(session_.get())}) {
    const std::string_view text{said->extra};
    if (const auto received = read_notification(text)) {
      notifications_.push_back(*received);
    } else if (text.empty()) {
      changes_.of_any_name = true;
    } else if (const auto bucket = read_bucket(text)) {
      changes_.buckets.insert(*bucket);
    }
  }
}

std::vector<store::notification> connection::take_notifications() {
  return std::exchange(notifications_, {});
}

}  // namespace holdfast::postgresql
