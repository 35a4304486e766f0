// SPDX-License-Identifier: Apache-2.0
#include "routines/routine_caller.hpp"

#include <optional>
#include <poll.h>
#include <stdexcept>
#include <variant>

namespace holdfast::test {

routine_caller::session& routine_caller::session_of(const owner_id& client) {
  session& s = sessions_[client];
  if (s.wire == nullptr) s.wire = dial(client, never_.descriptor());
  return s;
}

sql::answer routine_caller::call(const sql::call& call, const owner_id& client) {
  session& s = session_of(client);
  if (s.now_us != now_us_) {
    rows_of(carry_out(*s.wire, {"set_now", {sql::parameter::of(now_us_)}}));
    s.now_us = now_us_;
  }
  return carry_out(*s.wire, call);
}

sql::answer routine_caller::carry_out(sql::connection& on, const sql::call& call) {
  on.send(call);
  while (true) {
    ::pollfd socket{on.descriptor(), on.events(), 0};
    if (::poll(&socket, 1, static_cast<int>(wait_limit.count())) <= 0) {
      throw std::runtime_error{call.routine + ": no answer"};
    }
    auto answers = on.proceed();
    if (!answers.empty()) return std::move(answers.front());
  }
}

std::vector<store::client_notification> routine_caller::take_notifications() {
  std::vector<store::client_notification> all;
  for (auto& [client, s] : sessions_) {
    for (const store::notification& n : notifications_for(*s.wire)) all.push_back({client, n});
  }
  return all;
}

void routine_caller::set_clock(std::int64_t now_us) {
  if (now_us_ == 0) {
    const auto maker = dial(owner_id::random(), never_.descriptor());
    replace_clock();
  }
  now_us_ = now_us;
}

const std::vector<sql::row>& rows_of(const sql::answer& a) {
  if (const auto* refused = std::get_if<store::request_error>(&a))
    throw std::runtime_error{refused->reason.message};
  return std::get<std::vector<sql::row>>(a);
}

}  // namespace holdfast::test
