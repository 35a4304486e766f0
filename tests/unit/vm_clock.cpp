// What is concluded from the clock source of this host, where a test cannot set another.

#include "stores/vm_clock.hpp"

#include <gmock/gmock.h>

#include "unit/findings.hpp"

namespace holdfast::stores {
namespace {

using grade = finding::grade;
using testing::HasSubstr;

finding not_kept(const clock_facts& of) { return test::only_broken({vm_clock_finding(of)}); }

TEST(vm_clock, is_kept_where_the_clock_counts_a_pause_or_nobody_can_pause_the_machine) {
  for (const clock_facts& each : {clock_facts{"tsc", true}, clock_facts{"tsc", std::nullopt},
                                  clock_facts{"hpet", false}, clock_facts{std::nullopt, false}}) {
    EXPECT_EQ(vm_clock_finding(each).result, grade::kept) << vm_clock_finding(each).observed;
    EXPECT_FALSE(vm_clock_finding(each).observed.empty());
  }
}

TEST(vm_clock, is_a_warning_where_it_stands_still_with_the_machine) {
  for (const char* each : {"kvm-clock", "xen"}) {
    const finding found = not_kept({each, true});
    EXPECT_EQ(found.result, grade::warning);
    EXPECT_THAT(found.observed, HasSubstr(each));
  }
}

TEST(vm_clock, is_unknown_of_other_sources_and_of_none) {
  EXPECT_EQ(not_kept({"acpi_pm", true}).result, grade::unknown);
  EXPECT_EQ(not_kept({"arch_sys_counter", std::nullopt}).result, grade::unknown);
  EXPECT_EQ(not_kept({std::nullopt, true}).result, grade::unknown);
}

}  // namespace
}  // namespace holdfast::stores
