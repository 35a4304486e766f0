// SPDX-License-Identifier: Apache-2.0
// Names and metadata that look like statements, in what is sent. That each is a name of its own, and shown as
// it is, is the contract's: `names.*`.

#include "faults/servers/servers.hpp"

namespace holdfast::faults {
namespace {

class database_names : public on_each_database {
 protected:
  database_names() : on_each{{.log_statements = true}} {}
};

TEST_P(database_names, that_look_like_statements_are_in_no_statement) {
  for (const std::string text :
       {"'; drop table holdfast_locks; --", "'); DROP TABLE holdfast_locks_claims; --",
        "$$; drop table holdfast_locks; $$", "\\'; drop table holdfast_locks; --", "U&'\\0027'", "{locks}"}) {
    client locks{url(), client_options{}.program(text)};
    auto held = mutex{locks, text, lock_options{}.label(text)}.acquire();
    EXPECT_EQ(held.renew(), renewal::renewed) << text;
    const auto state = locks.inspect(text);
    ASSERT_TRUE(state) << text;
    EXPECT_EQ(state->holders.at(0).claimant.label, text);
    EXPECT_EQ(state->holders.at(0).claimant.program, text);
    EXPECT_EQ(locks.list().at(0).name, text);
    EXPECT_FALSE(held.release()) << text;
  }
  EXPECT_TRUE(server_->has_logged("holdfast_locks_acquire"));
  for (const auto* trace : {"drop table", "DROP TABLE", "U&'", "{locks}"}) {
    EXPECT_FALSE(server_->has_logged(trace)) << trace;
  }
}

HOLDFAST_ON_EACH_SERVER(database_names, database_kinds, any_kind<database>);

}  // namespace
}  // namespace holdfast::faults
