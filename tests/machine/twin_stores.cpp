#include "machine/twin_stores.hpp"

#include <stdexcept>

namespace holdfast::test {

twin_stores::twin_stores()
    : real_{{folder_.file("locks.db"), sql::tables::named("holdfast_locks"),
             std::chrono::hours{24 * 365 * 100}, [this] { return now; }, [this] { return wall; }}} {}

twin_stores::pair twin_stores::carry_out(const sql::request& asked, const owner_id& client) {
  return {ask_model(asked, client), ask_real(asked, client)};
}

twin_stores::answer twin_stores::ask_model(const sql::request& asked, const owner_id& client) {
  answer a;
  const auto wall_us = std::chrono::duration_cast<duration>(wall.time_since_epoch()).count();
  a.reply = model_.carry_out(asked, client, now, wall_us, a.words);
  return a;
}

twin_stores::answer twin_stores::ask_real(const sql::request& asked, const owner_id& client) {
  const bool reads = asked.what == sql::task::inspect || asked.what == sql::task::list;
  if (!real_.begin(reads ? sqlite::database::access::read : sqlite::database::access::write)) {
    throw std::runtime_error{"somebody else uses this test's file"};
  }
  answer a;
  std::vector<sqlite::told> told;
  a.reply = real_.carry_out(asked, client, told);
  if (!reads) real_.sweep_if_due();  // as the link does; it must never be noticed
  real_.commit();
  for (const sqlite::told& t : told) {
    a.words.push_back(
        {t.client, t.owner, {t.token ? store::notice::granted : store::notice::revoked, t.token}});
  }
  return a;
}

}  // namespace holdfast::test
