// Names and metadata that look like statements.

#include "faults/servers/servers.hpp"

namespace holdfast::faults {
namespace {

std::vector<std::string> hostile() {
  std::string emoji;
  for (int each = 0; each < 128; ++each) emoji += "\U0001F512";
  return {"'; drop table holdfast_locks; --",
          "'); DROP TABLE holdfast_locks_claims; --",
          "$$; drop table holdfast_locks; $$",
          "\\'; drop table holdfast_locks; --",
          "\\",
          "\\x27",
          "'",
          "''",
          "\"",
          "%s%n%d%",
          "%",
          "_",
          "$1",
          "{locks}",
          "E'\\047'",
          "U&'\\0027'",
          "null",
          " ",
          "a ",
          "A",
          "a",
          "é",
          "e\u0301",
          "ß",
          "ss",
          "\U0001F512",
          emoji,
          std::string(512, '\'')};
}

class database_names : public on_each_database {
 protected:
  database_names() : on_each{{.log_statements = true}} {}

  void expect_no_trace() const {
    EXPECT_TRUE(server_->has_logged("holdfast_locks_acquire"));
    for (const auto* trace : {"drop table", "DROP TABLE", "U&'", "{locks}"}) {
      EXPECT_FALSE(server_->has_logged(trace)) << trace;
    }
  }
};

TEST_P(database_names, that_look_like_statements_are_names) {
  client locks{url()};
  client others{url()};
  std::vector<lease> held;
  for (const auto& name : hostile()) {
    held.push_back(mutex{locks, name}.acquire());
    EXPECT_FALSE(mutex(others, name).try_lock()) << name;
    EXPECT_EQ(others.inspect(name)->holders.size(), 1U) << name;
  }
  EXPECT_EQ(server_->number("SELECT count(*) FROM holdfast_locks"), std::ssize(hostile())) << "two are one";
  std::vector<std::string> listed;
  for (const auto& each : others.list()) listed.push_back(each.name);
  EXPECT_THAT(listed, testing::UnorderedElementsAreArray(hostile()));
  for (auto& each : held) EXPECT_EQ(each.renew(), renewal::renewed) << each.name();
  for (auto& each : held) EXPECT_FALSE(each.release()) << each.name();
  expect_no_trace();
}

TEST_P(database_names, of_programs_and_labels_that_look_like_statements_are_shown_as_they_are) {
  for (const auto& text : hostile()) {
    if (text.size() > 256) continue;
    client locks{url(), client_options{}.program(text)};
    auto held = mutex{locks, "stock", lock_options{}.label(text)}.acquire();
    const auto state = locks.inspect("stock");
    ASSERT_TRUE(state);
    ASSERT_EQ(state->holders.size(), 1U);
    EXPECT_EQ(state->holders[0].claimant.label, text);
    EXPECT_EQ(state->holders[0].claimant.program, text);
    EXPECT_FALSE(held.release());
  }
  expect_no_trace();
}

HOLDFAST_ON_EACH_SERVER(database_names, database_kinds, any_kind<database>);

}  // namespace
}  // namespace holdfast::faults
