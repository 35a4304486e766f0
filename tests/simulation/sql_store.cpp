// SPDX-License-Identifier: Apache-2.0
#include "simulation/sql_store.hpp"

#include <chrono>
#include <utility>

#include "support/joint_requests.hpp"

namespace holdfast::sim {

using namespace std::chrono_literals;

sql_store::sql_store(mutant with) : with_{with} {
  sql_tables::clocks by;
  by.lease = [this] {
    const auto now = at == nullptr ? duration{0} : duration{at->lease_now()};
    return store::time_point{now + astray_};
  };
  by.wall = [this] {
    return std::chrono::system_clock::time_point{
        std::chrono::microseconds{at == nullptr ? 0 : at->wall_now()}};
  };
  all_.emplace_back(with, by, 24h, 1h);
  for (const duration keep_idle : {20ms, 100ms, 300ms, 1000ms}) {
    all_.emplace_back(with, by, keep_idle, 300ms);
  }
  tables_ = &all_.front();
}

void sql_store::begin(scene& in, site& at, ledger& account) {
  begin_world(in, at, account);
  faults_.begin(in);
  faults = &faults_;
  hosts_.clear();
  first_wall_us_ = at.wall_now();
  tables_ = &all_[in.chance.one_in(2) ? 0 : 1 + in.chance.below(all_.size() - 1)];
  forget();
}

std::unique_ptr<tickets::link> sql_store::connect(host& from, line& over, duration reply_limit) {
  auto link = std::make_unique<request_link>(static_cast<counter&>(*this), from, over, reply_limit);
  hosts_.insert_or_assign(link->address(), &from);
  return link;
}

void sql_store::heal() {
  careless = false;
  faults_.heal();
}

counter::outcome sql_store::carry_out(const tickets::request& request, const owner_id& client,
                                      std::vector<store::client_notification>& into) {
  astray_ = astray(client);
  try {
    sql_tables::result& done = tables_->carry_out(request, client);
    forgotten = done.forgotten;
    into.insert(into.end(), done.notifications.begin(), done.notifications.end());
    return std::move(done.answer);
  } catch (const sqlite::broken& b) {
    in->violated("the database refused: " + b.cause.reason.message);
    return store::request_error{b.cause.reason, true, false};
  }
}

void sql_store::carry_out_in_vain(const tickets::request& request, const owner_id& client) {
  astray_ = astray(client);
  const auto parts = test::parts_of(request);
  try {
    tables_->carry_out_in_vain(parts.empty() ? request : parts.front(), client);
  } catch (const sqlite::broken& b) {
    in->violated("the database refused: " + b.cause.reason.message);
  }
}

duration sql_store::astray(const owner_id& client) const {
  const auto known = hosts_.find(client);
  if (known == hosts_.end() || with_ != mutant::client_clock_expiry) return {};
  const auto passed = std::chrono::duration_cast<duration>(in->now.time_since_epoch());
  return duration{known->second->wall_now() - first_wall_us_} - passed;
}

}  // namespace holdfast::sim
