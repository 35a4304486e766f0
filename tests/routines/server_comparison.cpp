// SPDX-License-Identifier: Apache-2.0
#include "routines/server_comparison.hpp"

#include <stdexcept>

#include "support/joint_requests.hpp"

namespace holdfast::test {

server_comparison::server_comparison(routine_caller& real) : real_{real} {
  now_ = store::time_point{std::chrono::duration_cast<duration>(wall_.time_since_epoch())};
}

void server_comparison::set_clock() {
  real_.set_clock(std::chrono::duration_cast<duration>(now_.time_since_epoch()).count());
}

/// As a failure of the test that says what it was.
model_comparison::answer server_comparison::ask_real(const tickets::request& request,
                                                     const owner_id& client) {
  try {
    return answer_of_real(request, client);
  } catch (const runtime::connection_error& c) {
    throw std::runtime_error{"the connection is over: " + c.reason.message};
  }
}

model_comparison::answer server_comparison::answer_of_real(const tickets::request& request,
                                                           const owner_id& client) {
  set_clock();
  answer a;
  a.reply = sql::reply_of(request, rows_of(real_.call(sql::call_of(request, client), client)));
  // As the driver does: what the server leaves is asked one by one.
  if (auto* const all = std::get_if<tickets::several>(&a.reply)) {
    const auto parts = parts_of(request);
    bool goes_on = all->each.empty() || !std::holds_alternative<tickets::refused>(all->each.back());
    while (goes_on && all->each.size() < parts.size()) {
      const tickets::request& next = parts[all->each.size()];
      goes_on = append(*all, sql::reply_of(next, rows_of(real_.call(sql::call_of(next, client), client))));
    }
  }
  const bool reads = tickets::is_read_only(request);
  if (!reads) a.notifications = real_.take_notifications();
  return a;
}

bool server_comparison::forget(duration unused_for) {
  set_clock();
  constexpr std::int64_t at_a_time = 2;
  const sql::call sweep = sql::sweep_call(unused_for, duration::zero(), at_a_time);
  while (sql::number_at(rows_of(real_.call(sweep, id(200))).at(0), 0) != 0) {
  }
  return true;
}

}  // namespace holdfast::test
