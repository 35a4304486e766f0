// SPDX-License-Identifier: Apache-2.0
#include "core/model_comparison.hpp"

#include <variant>

#include "support/joint_requests.hpp"

namespace holdfast::test {

model_comparison::pair model_comparison::carry_out(const tickets::request& request, const owner_id& client) {
  pair both;
  const auto wall_us = std::chrono::duration_cast<duration>(wall_.time_since_epoch()).count();
  const auto ask_model = [&](const tickets::request& r) {
    return model_.carry_out(r, client, now_, wall_us, both.model.notifications);
  };
  both.model.reply = is_joint(request) ? tickets::reply{one_by_one(request, ask_model)} : ask_model(request);
  both.real = ask_real(request, client);
  for (tickets::request next = request; const auto* part = std::get_if<tickets::more>(&both.real.reply);) {
    *tickets::listed_in(next) = part->listed;
    both.real = ask_real(next, client);
  }
  return both;
}

void model_comparison::pass(duration time) {
  now_ += time;
  wall_ += time;
}

}  // namespace holdfast::test
