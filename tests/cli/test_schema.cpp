// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <gmock/gmock.h>
#include <memory>
#include <string>

#include "schema_places.hpp"
#include "support/fault_proxy.hpp"
#include "terminal.hpp"
#include <holdfast/client.hpp>

namespace holdfast::test {

std::vector<schema_kind>& schema_kinds() {
  static std::vector<schema_kind> kinds;  // here, because files register before main() in any order
  return kinds;
}

namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// Of a store whose user may make nothing, as an administrator of care has it.
class schema_command : public command_test, public testing::WithParamInterface<schema_kind> {
 protected:
  /// Its server starts with the first call.
  schema_place& place() {
    if (!place_) place_ = GetParam().start();
    return *place_;
  }

 private:
  std::unique_ptr<schema_place> place_;
};

TEST_P(schema_command, makes_it_once) {
  const auto first = holdfast({"schema", place().url(), "--apply"});
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr("made the tables and routines"));
  const auto second = holdfast({"schema", place().url(), "--apply"});
  EXPECT_EQ(second.status, 0) << second.err;
  EXPECT_THAT(second.out, HasSubstr("the tables and routines exist already"));
  const auto third = parse_lines(holdfast({"schema", "--store", place().url(), "--apply", "--json"}).out);
  ASSERT_EQ(third.size(), 1U);
  EXPECT_EQ(third[0]["made"], false);
}

TEST_P(schema_command, tells_on_a_terminal_for_how_long_it_has_taken) {
  auto url = place().url();
  const auto begin = url.find("127.0.0.1:") + std::string_view{"127.0.0.1:"}.size();
  const auto end = url.find('/', begin);
  fault_proxy line{static_cast<std::uint16_t>(std::stoi(url.substr(begin, end - begin)))};
  url.replace(begin, end - begin, std::to_string(line.port()));
  line.interfere(direction::to_client, {.stall = true});
  const auto piped = start({"schema", url, "--apply"});
  terminal screen{{HOLDFAST_COMMAND, "schema", url, "--apply"}, environment_with({"TERM=xterm"})};
  EXPECT_TRUE(screen.shows("making the tables and routines of " + masked_url(url)));
  line.heal();
  EXPECT_TRUE(screen.shows("\x1b[K"));
  EXPECT_TRUE(screen.shows("the tables and routines"));
  EXPECT_EQ(screen.wait(), 0);
  const auto said = piped->wait();
  EXPECT_EQ(said.status, 0);
  EXPECT_EQ(said.err, "");
}

TEST_P(schema_command, makes_it_whatever_the_url_says_of_first_use) {
  EXPECT_EQ(holdfast({"schema", place().url("&create=0"), "--apply"}).status, 0);
}

TEST_P(schema_command, prints_a_file_for_the_servers_own_client_which_may_be_run_again) {
  const auto said = holdfast({"schema", place().url()});
  EXPECT_EQ(said.status, 0);
  EXPECT_EQ(place().tables(), 0);  // only printed
  write_file(file("schema.sql"), said.out);
  for (int i = 0; i < 2; ++i) {
    process its_client{scratch_, place().client_of(file("schema.sql")), {}};
    const auto ran = its_client.wait();
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_EQ(ran.out + ran.err, "");
  }
  EXPECT_THAT(holdfast({"schema", place().url(), "--apply"}).out, HasSubstr("already"));
}

TEST_P(schema_command, prints_a_file_that_leaves_another_layout_alone) {
  ASSERT_EQ(holdfast({"schema", place().url(), "--apply"}).status, 0);
  place().raise_layout();
  write_file(file("schema.sql"), holdfast({"schema", place().url()}).out);
  process its_client{scratch_, place().client_of(file("schema.sql")), {}};
  EXPECT_THAT(its_client.wait().err, HasSubstr("layout"));  // a client may go on after an error
  const auto said = holdfast({"schema", place().url(), "--apply"});
  EXPECT_EQ(said.status, 69);
  EXPECT_THAT(said.err, HasSubstr("layout 3"));
}

TEST_P(schema_command, lets_those_work_who_may_make_nothing) {
  const auto early = holdfast({"run", "x", "--store", place().url_of_worker(), "--", "true"});
  EXPECT_EQ(early.status, 77);
  EXPECT_THAT(early.err, HasSubstr("holdfast schema URL --apply"));
  EXPECT_EQ(holdfast({"schema", place().url_of_worker(), "--apply"}).status, 77);
  const auto run = holdfast({"run", "x", "--store", place().url_of_worker("&create=0"), "--", "true"});
  EXPECT_EQ(run.status, 69);
  EXPECT_THAT(run.err, HasSubstr("create=0"));

  ASSERT_EQ(holdfast({"schema", place().url_for_worker(), "--apply"}).status, 0);
  const auto ran =
      holdfast({"run", "x", "--store", place().url_of_worker("&create=0"), "--", "echo", "held"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.out, "held\n");
}

TEST_P(schema_command, leaves_what_is_not_ours) {
  place().make_foreign_table();
  const auto said = holdfast({"schema", place().url(), "--apply"});
  EXPECT_EQ(said.status, 69);
  EXPECT_THAT(said.err, HasSubstr("not Holdfast's"));
}

TEST_P(schema_command, takes_its_url_from_the_environment_and_its_password_from_a_file) {
  place().require_password("open sesame");
  write_file(file("password"), "open sesame\n");
  const auto said = holdfast({"schema", "--apply", "--password-file", file("password")},
                             {{"HOLDFAST_STORE=" + place().url_without_password()}, ""});
  EXPECT_EQ(said.status, 0) << said.err;
}

TEST_P(schema_command, says_where_nobody_answers) {
  const std::string url = GetParam().scheme + "://u:secret@127.0.0.1:1/x";
  const auto said = holdfast({"schema", url, "--apply"});
  EXPECT_EQ(said.status, 69);
  EXPECT_THAT(said.err, StartsWith("holdfast: cannot make the tables of " + GetParam().scheme + "://u:***@"));
  EXPECT_THAT(said.err, Not(HasSubstr("secret")));
}

TEST_P(schema_command, makes_fences_once_and_prints_them_for_the_servers_own_client) {
  const auto said = holdfast({"schema", place().url(), "--fences"});
  EXPECT_EQ(said.status, 0) << said.err;
  EXPECT_EQ(place().tables(), 0);  // only printed
  write_file(file("fences.sql"), said.out);
  for (int i = 0; i < 2; ++i) {
    process its_client{scratch_, place().client_of(file("fences.sql")), {}};
    const auto ran = its_client.wait();
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_EQ(ran.out + ran.err, "");
  }
  EXPECT_EQ(place().tables(), 1);
  EXPECT_THAT(holdfast({"schema", place().url(), "--fences", "--apply"}).out,
              HasSubstr(": the fences exist already"));
  const auto as_json = parse_lines(holdfast({"schema", place().url(), "--fences", "--json"}).out);
  ASSERT_EQ(as_json.size(), 1U);
  EXPECT_EQ(as_json[0]["schema"], said.out);
}

TEST_P(schema_command, lets_nobody_make_fences_without_the_right) {
  EXPECT_EQ(holdfast({"schema", place().url_of_worker(), "--fences", "--apply"}).status, 77);
  EXPECT_EQ(place().tables(), 0);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(schema_command);
INSTANTIATE_TEST_SUITE_P(on, schema_command, testing::ValuesIn(schema_kinds()),
                         [](const auto& of) { return of.param.scheme; });

}  // namespace
}  // namespace holdfast::test
