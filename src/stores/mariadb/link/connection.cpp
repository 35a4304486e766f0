// SPDX-License-Identifier: Apache-2.0
#include "stores/mariadb/link/connection.hpp"

#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <utility>

#include "runtime/signals.hpp"
#include "stores/mariadb/protocol/schema.hpp"

namespace holdfast::mariadb {

namespace {

/// The memory of parameters while the library sends them.
MYSQL_BIND bound(sql::parameter& p) {
  if (p.type == sql::parameter::kind::list) p.text = sql::mariadb::packed(p.items);
  MYSQL_BIND b{};
  const bool is_number = p.type == sql::parameter::kind::number || p.type == sql::parameter::kind::flag;
  if (is_number) {
    b.buffer_type = MYSQL_TYPE_LONGLONG;
    b.buffer = &p.number;
  } else {  // texts, too: the server converts no bytes to a character set
    b.buffer_type = MYSQL_TYPE_BLOB;
    b.buffer = p.text.data();
    b.buffer_length = p.text.size();
  }
  return b;
}

/// One column of the result: a number at once, bytes when their length is known.
struct column {
  bool is_number = false;
  long long number = 0;
  unsigned long length = 0;
  my_bool null = 0;

  MYSQL_BIND bind() {
    MYSQL_BIND b{};
    b.buffer_type = is_number ? MYSQL_TYPE_LONGLONG : MYSQL_TYPE_BLOB;
    b.buffer = &number;
    b.buffer_length = is_number ? sizeof number : 0;
    b.length = &length;
    b.is_null = &null;
    return b;
  }
};

bool holds_numbers(const MYSQL_FIELD& f) {
  switch (f.type) {
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_LONGLONG:
    case MYSQL_TYPE_DECIMAL:
    case MYSQL_TYPE_NEWDECIMAL: return true;
    default: return false;
  }
}

/// The rows that a statement's store_result has brought.
class stored_rows {
 public:
  explicit stored_rows(MYSQL_STMT* of) : of_{of} {
    const result fields{mysql_stmt_result_metadata(of)};
    const unsigned count = fields ? mysql_num_fields(fields.get()) : 0;
    columns_.resize(count);
    std::vector<MYSQL_BIND> binds;
    binds.reserve(count);
    for (unsigned i = 0; i < count; ++i) {
      columns_[i].is_number = holds_numbers(*mysql_fetch_field_direct(fields.get(), i));
      binds.push_back(columns_[i].bind());
    }
    if (count > 0) mysql_stmt_bind_result(of, binds.data());
  }

  [[nodiscard]] std::vector<sql::row> all() {
    std::vector<sql::row> rows;
    rows.reserve(mysql_stmt_num_rows(of_));
    while (true) {
      const int got = mysql_stmt_fetch(of_);
      if (got != 0 && got != MYSQL_DATA_TRUNCATED) return rows;  // bytes are fetched one by one
      sql::row& r = rows.emplace_back();
      r.reserve(columns_.size());
      for (unsigned i = 0; i < columns_.size(); ++i) r.push_back(value_at(i));
    }
  }

 private:
  [[nodiscard]] sql::value value_at(unsigned i) {
    const column& c = columns_[i];
    if (c.null != 0) return std::monostate{};
    if (c.is_number) return std::int64_t{c.number};
    std::string bytes(c.length, '\0');
    MYSQL_BIND b{};
    b.buffer_type = MYSQL_TYPE_BLOB;
    b.buffer = bytes.data();
    b.buffer_length = bytes.size();
    if (!bytes.empty()) mysql_stmt_fetch_column(of_, &b, i, 0);
    return bytes;
  }

  MYSQL_STMT* of_;
  std::vector<column> columns_;
};

/// The rows of a call whose text has its values.
std::vector<sql::row> rows_of(MYSQL_RES* stored) {
  std::vector<sql::row> rows;
  const unsigned count = mysql_num_fields(stored);
  while (MYSQL_ROW const next = mysql_fetch_row(stored)) {
    const unsigned long* const lengths = mysql_fetch_lengths(stored);
    sql::row& r = rows.emplace_back();
    for (unsigned i = 0; i < count; ++i) {
      const std::string_view bytes{next[i] == nullptr ? "" : next[i], next[i] == nullptr ? 0 : lengths[i]};
      if (next[i] == nullptr) {
        r.emplace_back(std::monostate{});
      } else if (holds_numbers(*mysql_fetch_field_direct(stored, i))) {
        r.emplace_back(sql::number_in(bytes));
      } else {
        r.emplace_back(std::string{bytes});
      }
    }
  }
  return rows;
}

}  // namespace

connection::connection(handle session, const owner_id& client, const sql::naming& names, session_use use)
    : sql::connection{client}, session_{std::move(session)}, names_{names}, use_{use} {}

namespace {

/// Over TLS it is OpenSSL that writes, and not the library, which sees to that itself.
class quiet_writes {
 public:
  explicit quiet_writes(MYSQL* session) {
    if (session != nullptr && mysql_get_ssl_cipher(session) != nullptr) guard_.emplace();
  }

 private:
  std::optional<runtime::no_sigpipe> guard_;
};

}  // namespace

/// Closes the session first: closing a statement before would wait for its answer.
connection::~connection() {
  const quiet_writes guard{session_.get()};
  if (stage_ != stage::idle && stage_ != stage::answered) ::shutdown(descriptor(), SHUT_RDWR);
  session_.reset();
  statements_.clear();
}

short connection::events() const {
  if (stage_ == stage::answered)
    return static_cast<short>(POLLIN | POLLOUT);  // returns at once: there is an answer
  return stage_ == stage::idle ? static_cast<short>(POLLIN) : events_of(waiting_);
}

void connection::send(const sql::call& request) {
  const quiet_writes guard{session_.get()};
  call_ = request;
  has_rows_ = false;
  answer_ = std::vector<sql::row>{};
  if (is_shared()) {
    text_ = sql::mariadb::text_with_values(call_, names_);
    waiting_ = begin(stage::executing);
    if (waiting_ == 0) advance();
    return;
  }
  const auto [found, is_new] = statements_.try_emplace(request.routine);
  current_ = found;
  if (is_new) found->second.reset(mysql_stmt_init(session_.get()));
  if (!found->second) throw runtime::connection_error{{errc::exhausted, "out of memory"}};
  waiting_ = begin(is_new ? stage::preparing : stage::executing);
  if (waiting_ == 0) advance();
}

std::vector<sql::answer> connection::proceed() {
  if (stage_ == stage::idle) {  // input without a call: the last message of a session that ends
    throw runtime::connection_error{{errc::unavailable, "the server ended the session"}};
  }
  if (stage_ != stage::answered) {
    const int ready = ready_of(session_.get(), waiting_);
    if (ready == 0) return {};
    const quiet_writes guard{session_.get()};
    waiting_ = resume(ready);
    if (waiting_ == 0) advance();
  }
  if (stage_ != stage::answered) return {};
  stage_ = stage::idle;
  std::vector<sql::answer> one;
  one.push_back(std::move(answer_));
  return one;
}

int connection::begin(stage s) {
  stage_ = s;
  failed_ = 0;
  if (is_shared()) return begin_text(s);
  switch (s) {
    case stage::preparing: {
      const std::string text = sql::mariadb::text_of(call_, names_);
      return mysql_stmt_prepare_start(&failed_, current(), text.data(), text.size());
    }
    case stage::executing: return bind_parameters() ? mysql_stmt_execute_start(&failed_, current()) : 0;
    case stage::storing: return mysql_stmt_store_result_start(&failed_, current());
    case stage::going_on: return mysql_stmt_next_result_start(&failed_, current());
    case stage::idle:
    case stage::answered: break;
  }
  return 0;
}

/// The same for a text.
int connection::begin_text(stage s) {
  switch (s) {
    case stage::executing:
      return mysql_real_query_start(&failed_, session_.get(), text_.data(), text_.size());
    case stage::storing: return mysql_store_result_start(&stored_, session_.get());
    case stage::going_on: return mysql_next_result_start(&failed_, session_.get());
    case stage::preparing:
    case stage::idle:
    case stage::answered: break;
  }
  return 0;
}

int connection::resume_text(int ready) {
  switch (stage_) {
    case stage::executing: return mysql_real_query_cont(&failed_, session_.get(), ready);
    case stage::storing: return mysql_store_result_cont(&stored_, session_.get(), ready);
    case stage::going_on: return mysql_next_result_cont(&failed_, session_.get(), ready);
    case stage::preparing:
    case stage::idle:
    case stage::answered: break;
  }
  return 0;
}

unsigned connection::error_number() const {
  return is_shared() ? mysql_errno(session_.get()) : mysql_stmt_errno(current());
}

bool connection::has_columns() const {
  return (is_shared() ? mysql_field_count(session_.get()) : mysql_stmt_field_count(current())) > 0;
}

bool connection::has_more_results() const {
  return (is_shared() ? mysql_more_results(session_.get()) : mysql_stmt_more_results(current())) != 0;
}

/// The library reads as many as the server says that there are.
/// \return false, with an answer, if those are others.
bool connection::bind_parameters() {
  std::vector<MYSQL_BIND> binds;
  binds.reserve(call_.in.size());
  for (sql::parameter& p : call_.in) binds.push_back(bound(p));
  const bool is_bound = mysql_stmt_param_count(current()) == binds.size() &&
                        (binds.empty() || mysql_stmt_bind_param(current(), binds.data()) == 0);
  if (is_bound) return true;
  const failure reason{errc::corrupt_store,
                       "the server counts other parameters of '" + call_.routine + "' than it has"};
  stage_ = stage::answered;
  answer_ = store::request_error{reason, false, false};
  ended_ = runtime::connection_error{reason};  // nothing that is prepared there is to be used
  return false;
}

int connection::resume(int ready) {
  if (is_shared()) return resume_text(ready);
  switch (stage_) {
    case stage::preparing: return mysql_stmt_prepare_cont(&failed_, current(), ready);
    case stage::executing: return mysql_stmt_execute_cont(&failed_, current(), ready);
    case stage::storing: return mysql_stmt_store_result_cont(&failed_, current(), ready);
    case stage::going_on: return mysql_stmt_next_result_cont(&failed_, current(), ready);
    case stage::idle:
    case stage::answered: break;
  }
  return 0;
}

/// Runs the stages until one has to wait.
void connection::advance() {
  while (waiting_ == 0 && stage_ != stage::answered) {
    const bool has_no_rows = is_shared() && stage_ == stage::storing && stored_ == nullptr;
    if (failed_ > 0 || has_no_rows) return fail();
    if (stage_ == stage::storing) take_rows();
    waiting_ = begin(next_stage());
  }
}

/// A procedure returns its rows and then its status, which may be an error.
connection::stage connection::next_stage() {
  if (stage_ == stage::preparing) return stage::executing;
  const bool rows_follow = stage_ != stage::storing && has_columns();
  if (rows_follow) return stage::storing;
  return has_more_results() ? stage::going_on : stage::answered;
}

void connection::take_rows() {
  const result stored{std::exchange(stored_, nullptr)};
  if (!has_rows_) answer_ = is_shared() ? rows_of(stored.get()) : stored_rows{current()}.all();
  has_rows_ = true;
}

/// \throws runtime::connection_error when that ends the session without a clear answer.
void connection::fail() {
  const unsigned number = error_number();
  const std::string sentence = is_shared() ? mysql_error(session_.get()) : mysql_stmt_error(current());
  const bool unprepared = stage_ == stage::preparing;
  stage_ = stage::idle;
  constexpr unsigned no_such_procedure = 1305;
  if (unprepared) statements_.erase(current_);
  constexpr unsigned no_such_table = 1146;
  if (is_bare() && (number == no_such_procedure || number == no_such_table)) {
    stage_ = stage::answered;  // without rows
    return;
  }
  refusal r = refusal_of(number, sentence, !unprepared);
  stage_ = stage::answered;  // if there is an answer: a call that ended without one never gets it
  if (r.over) ended_ = runtime::connection_error{r.reason.reason, r.reason.retryable};
  answer_ = std::move(r.reason);
}

short events_of(int waiting) {
  int events = 0;
  if ((waiting & MYSQL_WAIT_READ) != 0) events |= POLLIN;
  if ((waiting & MYSQL_WAIT_WRITE) != 0) events |= POLLOUT;
  if ((waiting & MYSQL_WAIT_EXCEPT) != 0) events |= POLLPRI;
  return static_cast<short>(events);
}

int ready_of(MYSQL* connection, int waiting) {
  pollfd fd{mysql_get_socket(connection), events_of(waiting), 0};
  if (::poll(&fd, 1, 0) <= 0) return 0;
  int ready = 0;
  if ((fd.revents & (POLLIN | POLLHUP | POLLERR)) != 0) ready |= MYSQL_WAIT_READ;
  if ((fd.revents & (POLLOUT | POLLHUP | POLLERR)) != 0) ready |= MYSQL_WAIT_WRITE;
  if ((fd.revents & POLLPRI) != 0) ready |= MYSQL_WAIT_EXCEPT;
  return ready & waiting;
}

}  // namespace holdfast::mariadb
