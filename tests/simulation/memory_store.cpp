// SPDX-License-Identifier: Apache-2.0
#include "simulation/memory_store.hpp"

#include "core/questions.hpp"

namespace holdfast::sim {

void memory_store::begin(scene& in, site& at, ledger& account) {
  begin_world(in, at, account);
  forget();
}

std::unique_ptr<tickets::link> memory_store::connect(host& from, line& over, duration reply_limit) {
  return std::make_unique<request_link>(static_cast<counter&>(*this), from, over, reply_limit);
}

counter::outcome memory_store::carry_out(const tickets::request& request, const owner_id& client,
                                         std::vector<store::client_notification>& into) {
  const store::time_point now{std::chrono::microseconds{at->lease_now()}};
  return table_.carry_out(request, client, now, at->wall_now(), into);
}

std::vector<standing> memory_store::claims() {
  std::vector<standing> all;
  for (std::size_t i = 0; i < names; ++i) {
    std::vector<store::client_notification> none;
    const auto answer = carry_out(tickets::inspect{.name = name_of(i)}, owner_id{}, none);
    append_standings(i, std::get<std::optional<lock_state>>(std::get<tickets::reply>(answer)),
                     at->lease_now(), all);
  }
  return all;
}

}  // namespace holdfast::sim
