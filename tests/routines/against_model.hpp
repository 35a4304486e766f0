// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rapidcheck.h>

#include "core/random_commands.hpp"
#include "routines/server_comparison.hpp"
#include "routines/tasks.hpp"
#include "support/amount.hpp"

namespace holdfast::test {

/// A property: random commands get the same answers from the model and from a server's routines, as in
/// core/model_against_sql.cpp. `Caller` calls the routines that `Server` keeps; there is one of each for
/// all cases.
template <class Server, class Caller>
void answers_as_the_model() {
  // Long ones from the first on: rapidcheck begins with few commands, and there are not many sequences.
  constexpr int longest = 200;
  const auto commands = *rc::gen::resize(longest, rc::gen::container<std::vector<command>>(any_command()));
  static Server server;
  static Caller real{server};
  static server_comparison comparison{real};
  static int sequences = 0;
  if (sequences == amount(30, 100)) return;
  static const auto layout = number_in(real, "layout");  // and the tables are there
  RC_ASSERT(layout == 2);
  compare_replies(commands, comparison, ++sequences);
  // Where nothing is searched, nothing is.
  RC_ASSERT(
      server.number("SELECT count(*) FROM holdfast_locks_claims c JOIN holdfast_locks l ON l.name = c.name "
                    "WHERE c.token < l.oldest") == 0);
}

}  // namespace holdfast::test
