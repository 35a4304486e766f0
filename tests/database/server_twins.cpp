#include "database/server_twins.hpp"

#include <stdexcept>

namespace holdfast::test {

server_twins::server_twins(caller& real) : real_{real} {
  now_ = store::time_point{std::chrono::duration_cast<duration>(wall_.time_since_epoch())};
}

void server_twins::set_clock() {
  real_.set_clock(std::chrono::duration_cast<duration>(now_.time_since_epoch()).count());
}

/// As a failure of the test that says what it was.
twins::answer server_twins::ask_real(const tickets::request& asked, const owner_id& client) {
  try {
    return answer_of_real(asked, client);
  } catch (const runtime::connection_error& c) {
    throw std::runtime_error{"the connection is over: " + c.reason.message};
  }
}

twins::answer server_twins::answer_of_real(const tickets::request& asked, const owner_id& client) {
  set_clock();
  answer a;
  a.reply = sql::reply_of(asked, rows_of(real_.call(sql::call_of(asked, client), client)));
  const bool reads = asked.kind == tickets::task::inspect || asked.kind == tickets::task::list;
  if (!reads) a.words = real_.take_words();
  return a;
}

bool server_twins::forget(duration unused_for) {
  set_clock();
  constexpr std::int64_t at_a_time = 2;
  const sql::call sweep = sql::sweep_call(unused_for, duration::zero(), at_a_time);
  while (sql::number_at(rows_of(real_.call(sweep, id(200))).at(0), 0) != 0) {
  }
  return true;
}

}  // namespace holdfast::test
