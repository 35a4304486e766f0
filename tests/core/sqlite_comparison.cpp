// SPDX-License-Identifier: Apache-2.0
#include "core/sqlite_comparison.hpp"

#include <stdexcept>

namespace holdfast::test {

namespace {

sqlite::database::settings settings_of(const std::string& path, const store::time_point& now,
                                       const std::chrono::system_clock::time_point& wall) {
  sqlite::database::settings s;
  s.path = path;
  s.names = sql::naming{"", "holdfast_locks", '"'};
  s.keep_idle = std::chrono::hours{24 * 365 * 100};
  s.lease_clock = [&now] { return now; };
  s.wall_clock = [&wall] { return wall; };
  return s;
}

}  // namespace

sqlite_comparison::sqlite_comparison() : real_{settings_of(folder_.file("locks.db"), now_, wall_)} {}

model_comparison::answer sqlite_comparison::ask_real(const tickets::request& request,
                                                     const owner_id& client) {
  const bool reads = tickets::is_read_only(request);
  if (!real_.begin(reads ? sqlite::database::access::read : sqlite::database::access::write)) {
    throw std::runtime_error{"somebody else uses this test's file"};
  }
  answer a;
  a.reply = real_.carry_out(request, client, a.notifications);
  if (!reads) real_.sweep_if_due();  // as the link does; it must never be noticed
  real_.commit();
  return a;
}

}  // namespace holdfast::test
