#pragma once

#include <libpq-fe.h>
#include <memory>
#include <string>

#include "core/machine.hpp"
#include "runtime/io_deadline.hpp"

namespace holdfast::postgresql {

struct finisher {
  void operator()(PGconn* c) const { PQfinish(c); }
  void operator()(PGresult* r) const { PQclear(r); }
  void operator()(PGnotify* n) const { PQfreemem(n); }
};
using handle = std::unique_ptr<PGconn, finisher>;
using result = std::unique_ptr<PGresult, finisher>;

/// libpq's message about its connection, in one line.
[[nodiscard]] failure failure_of(PGconn* connection);

/// The reason why a connection could not be made, from a connection after `make_talkative`.
[[nodiscard]] runtime::connection_error refused_entry(PGconn* connection);
/// To be called before connecting: errors get codes, which do not depend on the language, and warnings are
/// dropped, which libpq would write to the program's standard error.
void make_talkative(PGconn* connection);

/// The reason why the server refused a statement.
struct refusal {
  store::request_error reason;
  bool over = false;   // it would refuse the next statements of the session, too
  bool fatal = false;  // it has ended the session
};
[[nodiscard]] refusal refusal_of(const PGresult* refused);
/// Whether the reason is a missing routine, table or schema.
[[nodiscard]] bool is_missing(const PGresult* refused);

}  // namespace holdfast::postgresql
