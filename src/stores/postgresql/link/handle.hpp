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

/// What libpq says of its connection, in one line.
[[nodiscard]] failure failure_of(PGconn* connection);

/// Why a connection could not be had. The connection has been `talkative`.
[[nodiscard]] runtime::connection_error refused_entry(PGconn* connection);
/// Before it connects: errors with the codes by which they are known in every language; and warnings to
/// nobody, where libpq would write them to the program's standard error.
void make_talkative(PGconn* connection);

/// Why the server refused a statement.
struct refusal {
  store::trouble reason;
  bool over = false;   // it would refuse the session's next ones likewise
  bool fatal = false;  // it has ended the session
};
[[nodiscard]] refusal refusal_of(const PGresult* refused);
/// Whether that was since a routine, a table or their schema is not there.
[[nodiscard]] bool is_missing(const PGresult* refused);

}  // namespace holdfast::postgresql
