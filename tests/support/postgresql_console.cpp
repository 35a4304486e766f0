// SPDX-License-Identifier: Apache-2.0
#include "support/postgresql_console.hpp"

#include <libpq-fe.h>
#include <poll.h>

namespace holdfast::test {

namespace {

constexpr int patience_ms = 60'000;

struct result_closer {
  void operator()(::PGresult* result) const { ::PQclear(result); }
};
using result_ptr = std::unique_ptr<::PGresult, result_closer>;

std::string line_of(const char* text) {
  const std::string all = text == nullptr ? "" : text;
  return all.substr(0, all.find('\n'));
}

std::string error_text(const ::PGresult* result) {
  const char* state = ::PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* message = ::PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  std::string text{"-"};
  text.append(state == nullptr ? "08006" : state).append(" ");
  return text.append(line_of(message == nullptr ? ::PQresultErrorMessage(result) : message));
}

bool is_error(const ::PGresult* result) {
  const auto status = ::PQresultStatus(result);
  return status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK;
}

std::string text_of(const ::PGresult* result) {
  if (is_error(result)) return error_text(result);
  std::string text;
  for (int row = 0; row < ::PQntuples(result); ++row) {
    if (row > 0) text += '\n';
    for (int column = 0; column < ::PQnfields(result); ++column) {
      if (column > 0) text += '|';
      const bool null = ::PQgetisnull(result, row, column) != 0;
      text += null ? "(null)" : ::PQgetvalue(result, row, column);
    }
  }
  return text;
}

}  // namespace

void postgresql_console::closer::operator()(pg_conn* connection) const { ::PQfinish(connection); }

postgresql_console::postgresql_console(const std::string& where)
    : connection_{::PQconnectdb((where + " connect_timeout=60").c_str())} {
  ::PQsetNoticeProcessor(connection_.get(), [](void*, const char*) {}, nullptr);
}

bool postgresql_console::connected() const { return ::PQstatus(connection_.get()) == CONNECTION_OK; }

::pid_t postgresql_console::backend() const { return ::PQbackendPID(connection_.get()); }

std::string postgresql_console::ask(const std::string& sql, const std::vector<std::string>& values) {
  tell(sql, values);
  return answer();
}

void postgresql_console::tell(const std::string& sql, const std::vector<std::string>& values) {
  if (values.empty()) {
    ::PQsendQuery(connection_.get(), sql.c_str());
    return;
  }
  std::vector<const char*> texts;
  texts.reserve(values.size());
  for (const auto& each : values) texts.push_back(each.c_str());
  ::PQsendQueryParams(connection_.get(), sql.c_str(), static_cast<int>(texts.size()), nullptr, texts.data(),
                      nullptr, nullptr, 0);
}

bool postgresql_console::await_bytes() const {
  ::pollfd socket{::PQsocket(connection_.get()), POLLIN, 0};
  return socket.fd >= 0 && ::poll(&socket, 1, patience_ms) > 0;
}

std::string postgresql_console::answer() {
  std::string first_error;
  std::string last = "-08006 " + line_of(::PQerrorMessage(connection_.get()));  // had it not been sent
  for (;;) {
    while (::PQisBusy(connection_.get()) != 0) {
      if (!await_bytes()) return "-08006 no answer";
      if (::PQconsumeInput(connection_.get()) == 0) break;  // the end; what came before it is there
    }
    const result_ptr result{::PQgetResult(connection_.get())};
    if (result == nullptr) return first_error.empty() ? last : first_error;
    last = text_of(result.get());
    if (first_error.empty() && is_error(result.get())) first_error = last;
  }
}

std::string postgresql_console::notified() {
  for (;;) {
    if (::PGnotify* note = ::PQnotifies(connection_.get()); note != nullptr) {
      std::string payload = note->extra;
      ::PQfreemem(note);
      return payload;
    }
    if (!await_bytes() || ::PQconsumeInput(connection_.get()) == 0) return {};
  }
}

}  // namespace holdfast::test
