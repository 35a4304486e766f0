#include "core/twins.hpp"

namespace holdfast::test {

twins::pair twins::carry_out(const tickets::request& asked, const owner_id& client) {
  pair both;
  const auto wall_us = std::chrono::duration_cast<duration>(wall_.time_since_epoch()).count();
  both.model.reply = model_.carry_out(asked, client, now_, wall_us, both.model.words);
  both.real = ask_real(asked, client);
  return both;
}

void twins::pass(duration time) {
  now_ += time;
  wall_ += time;
}

}  // namespace holdfast::test
