// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <span>
#include <string_view>
#include <vector>

#include "stores/doctor/examination.hpp"
#include "stores/doctor/succession.hpp"
#include "stores/sql/link/link.hpp"

namespace holdfast::sql::conditions {

using doctor::condition;
using doctor::grade;

inline constexpr std::string_view apply = "holdfast schema URL --apply, as a user with the rights";

/// What each database server has to keep for locks to exclude one another. What clients refuse is said in
/// their words.
inline constexpr condition server_conditions[]{
    {"version", grade::kept, "version", "{product} {version}"},
    {"server", grade::broken, "server_refusal pooler_remedy", "{server_refusal}",
     "clients refuse it: no lock can be acquired or renewed", "{pooler_remedy}"},
    {"server", grade::broken, "server_refusal", "{server_refusal}",
     "clients refuse it: no lock can be acquired or renewed",
     "change the setting, or let the store's URL lead to a server that takes writes"},
    {"server", grade::kept, "is_usable=yes", "clients can use it"},

    // How claims that wait learn of grants, where the URL has notify=poll.
    {"notifications", grade::kept, "poll pooled=no",
     "a client polls, and no pooler is in front of the server: while claims wait, one statement at least "
     "every {poll:ms}; without notify=poll a hand-over takes less time"},
    {"notifications", grade::kept, "poll pooled=yes",
     "a client polls through a pooler: while claims wait, one statement for all of them at least every "
     "{poll:ms}"},
    {"notifications", grade::kept, "poll",
     "a client polls: while claims wait, one statement for all of them at least every {poll:ms}"},

    // It keeps what it has answered. With mode=session a crash that takes back grants ends all sessions, too.
    {"persistence", grade::warning, "careless session=yes", "{careless}",
     "a crash takes back the last grants, and ends all sessions: tokens may repeat, if the clock is set back",
     "{careless_remedy}"},
    {"persistence", grade::broken, "careless", "{careless}",
     "a crash takes back the last grants that were answered, and they are granted again",
     "{careless_remedy}"},

    {"schema", grade::broken, "schema_refusal", "{schema_refusal}", "clients refuse it",
     "holdfast schema URL --apply, as a user with the rights; or another table= in the URL"},
    {"schema", grade::warning, "outdated=yes", "the procedures of {table} are those of another version",
     "they work, without what has been mended since if they are older",
     "with the newest version: holdfast schema URL --apply"},
    {"schema", grade::kept, "outdated=no", "{table} fits this version"},
    // The next client that locks makes what is missing, if it may.
    {"schema", grade::kept, "shortage is_there=no may_make=yes",
     "{shortage}; the first client that locks makes it, if it may"},
    {"schema", grade::warning, "shortage may_make=yes", "{shortage}",
     "the next client that locks makes it, if it may: others fail", apply},
    {"schema", grade::broken, "shortage", "{shortage}, and this user may not make it",
     "locks fail with errc::permission_denied", apply},
    {"rights", grade::broken, "routines>=1 lacking", "the user {user} may not call {lacking}",
     "what needs it fails with errc::permission_denied", "{grant}"},
    {"rights", grade::kept, "routines>=1", "the user {user} may call all routines"},
};

inline constexpr condition part_conditions[]{
    {"examination", grade::unknown, "", "the {part} could not be examined: {reason}",
     "whether the conditions are kept that depend on it is not known",
     "mend what the server says, or end the session that holds the lock, and examine again"},
};

}  // namespace holdfast::sql::conditions

namespace holdfast::sql {

/// Whether clients poll, and how often.
inline void set_polling(doctor::facts& said, const link_settings& of) {
  if (!of.polling) return;
  said.set("poll", std::chrono::duration_cast<std::chrono::milliseconds>(of.polling->longest).count());
}

/// What is known of a server after all questions.
struct examination {
  doctor::facts said;
  std::vector<finding> more;  // of rights that nobody needs, and of what could not be examined

  void add_unread(std::string_view part, std::string_view reason) {
    doctor::facts of{said.subject};
    of.set("part", part);
    of.set("reason", reason);
    doctor::examine(conditions::part_conditions, of, more);
  }
  [[nodiscard]] doctor::report conclude(std::span<const doctor::condition> own) const {
    doctor::report result;
    std::vector<finding>& all = result.findings;
    doctor::examine(conditions::server_conditions, said, all);
    doctor::examine(own, said, all);
    if (said.has("clock_distance")) doctor::examine(doctor::clock_conditions(), said, all);
    all.insert(all.end(), more.begin(), more.end());
    result.tokens.add_clock(said);
    return result;
  }
};

}  // namespace holdfast::sql
