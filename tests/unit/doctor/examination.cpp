// SPDX-License-Identifier: Apache-2.0
// The engine of `holdfast doctor`, and what is concluded from this host.

#include <array>
#include <chrono>
#include <gmock/gmock.h>
#include <limits>

#include "runtime/measurement.hpp"
#include "unit/doctor/cases.hpp"

namespace holdfast::doctor {
namespace {

using test::facts_of;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> names_in(std::span<const condition> table, const char* known) {
  std::vector<finding> all;
  examine(table, facts_of(known), all);
  std::vector<std::string> observed;
  for (const finding& each : all) observed.push_back(each.observed);
  return observed;
}

TEST(doctor_examination, says_the_first_row_of_each_condition_that_applies) {
  constexpr std::array table{
      condition{"a", grade::broken, "x=1", "first"},   condition{"a", grade::warning, "", "second"},
      condition{"b", grade::kept, "y", "third"},       condition{"b", grade::broken, "z", "fourth"},
      condition{"c", grade::unknown, "!x", "unknown"},
  };
  EXPECT_THAT(names_in(table, "x=1"), ElementsAre("first"));
  EXPECT_THAT(names_in(table, "x=2;z=1"), ElementsAre("second", "fourth"));
  EXPECT_THAT(names_in(table, "y=1;z=1"), ElementsAre("second", "third", "unknown"));
}

TEST(doctor_examination, compares_what_is_known_and_nothing_else) {
  const auto holds = [](std::string_view when, const char* known) {
    const std::array table{condition{"a", grade::kept, when, "yes"}};
    return !names_in(table, known).empty();
  };
  EXPECT_TRUE(holds("", ""));
  for (const char* when : {"a", "a=1", "a!=2", "a<2", "a>=1", "a<b", "a=1 b=2", "!c"}) {
    EXPECT_TRUE(holds(when, "a=1;b=2")) << when;
  }
  for (const char* when : {"!a", "a=2", "a!=1", "a<1", "a>=2", "a>=b", "a=1 b=1", "c", "c=1", "c!=1", "c<1",
                           "c>=0", "a<c", "a>=c"}) {
    EXPECT_FALSE(holds(when, "a=1;b=2")) << when;
  }
  EXPECT_FALSE(holds("a", "a=")) << "empty is not there";
  EXPECT_TRUE(holds("a=", "a="));
}

TEST(doctor_examination, fills_places_once_and_survives_any_text) {
  EXPECT_EQ(fill("{a} and {b}", facts_of("a={b};b=x")), "{b} and x");
  EXPECT_EQ(fill("{missing}.", facts_of("")), ".");
  EXPECT_EQ(fill("{a:ms} {b:ms}", facts_of("a=10000;b=1500")), "10 s 1500 ms");
  EXPECT_EQ(fill("{a:replica} {b:replica}", facts_of("a=1;b=2")), "1 replica 2 replicas");
  EXPECT_EQ(fill("rm {'a'}", facts_of("a=it's")), "rm 'it'\\''s'");
  EXPECT_EQ(fill("rm {'a'}", facts_of("a=/var/lib/x.db")), "rm /var/lib/x.db");
  facts of;
  of.set("long", std::string(100'000, 'x'));
  EXPECT_LE(fill("{long}", of).size(), 4096U);
  of.set("long", "another");
  EXPECT_EQ(of.text("long").front(), 'x') << "the first one stays";
}

TEST(doctor_examination, bounds_numbers_whose_multiples_would_overflow) {
  for (const char* text : {"9223372036854775807", "99999999999999999999999", "-99999999999999999999999"}) {
    const std::int64_t number = facts_of(std::string{"a="} + text).number("a");
    EXPECT_EQ(number < 0 ? -number : number, 1'000'000'000'000'000) << text;
  }
  EXPECT_EQ(facts_of("a=many").number("a"), 0);
}

TEST(doctor_examination, takes_any_clock) {
  using std::chrono::microseconds;
  for (const auto there : {microseconds::min(), microseconds::max()}) {
    for (const microseconds ahead : {there, runtime::clock_ahead([&] { return there; })}) {
      facts of;
      set_clock(of, ahead);
      std::vector<finding> all;
      examine(clock_conditions(), of, all);
      ASSERT_EQ(all.size(), 1U);
      EXPECT_EQ(all[0].result, grade::warning);
      EXPECT_THAT(all[0].observed, HasSubstr(there.count() > 0 ? " ahead of" : " behind"));
    }
  }
  test::expect_each_row(
      clock_conditions(),
      {{"", "clock", grade::unknown, "does not say the time"},
       {"clock_distance=999;clock_side=behind", "clock", grade::kept, "agrees"},
       {"clock_distance=1000;clock_side=behind", "clock", grade::warning, "1 s behind this host's"}});
}

TEST(doctor_examination, knows_which_clock_of_this_host_counts_a_pause) {
  const auto said = [](const char* known) {
    std::vector<finding> all;
    examine_host_clock(facts_of(known), all);
    EXPECT_EQ(all.size(), 1U);
    return all.at(0).result;
  };
  for (const char* each : {"source=tsc;virtual=yes", "source=tsc", "source=hpet;virtual=no", "virtual=no"})
    EXPECT_EQ(said(each), grade::kept) << each;
  for (const char* each : {"source=kvm-clock;virtual=yes", "source=xen;virtual=yes"})
    EXPECT_EQ(said(each), grade::warning) << each;
  for (const char* each : {"source=acpi_pm;virtual=yes", "source=arch_sys_counter", "virtual=yes", ""})
    EXPECT_EQ(said(each), grade::unknown) << each;
}

}  // namespace
}  // namespace holdfast::doctor
