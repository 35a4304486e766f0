// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <gmock/gmock.h>
#include <optional>
#include <string>
#include <vector>

#include "doctor_record.hpp"
#include "fixture.hpp"

namespace holdfast::test {

/// What `holdfast doctor` says: each test breaks one condition, and sees it named.
class doctor_test : public command_test {
 protected:
  /// Where all is in order. Of a virtual machine whose clock may stand still while it is paused, it warns: no
  /// test can set another.
  static int status_in_order() {
    if (contents("/sys/devices/system/clocksource/clocksource0/current_clocksource") == "tsc\n") return 0;
    const auto processor = contents("/proc/cpuinfo");
    const bool is_no_virtual_machine =
        processor.find("\nflags") != std::string::npos && processor.find(" hypervisor") == std::string::npos;
    return is_no_virtual_machine ? 0 : 1;
  }
  /// What it prints of the store, without what it prints of this host.
  static std::string of_store(const std::string& output) {
    return output.substr(0, output.find("this host: "));
  }
  /// All findings; fails the test where the command ends with another status.
  json findings(const std::string& store, std::optional<int> status, const strings& more = {}) {
    strings arguments{"doctor", "--json", "--store", store};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto run = holdfast(arguments);
    if (status) {
      const bool is_with_host = !store.starts_with("sqlite:") && !store.starts_with("memory:");
      EXPECT_EQ(run.status, is_with_host ? std::max(*status, status_in_order()) : *status)
          << run.out << run.err;
    }
    const auto lines = parse_lines(run.out);
    if (lines.size() == 1) return lines.front()["findings"];
    ADD_FAILURE() << run.out << run.err;
    return json::array();
  }
  /// The finding of one condition, the worst of that name; fails the test where there is none.
  json condition(const std::string& store, const std::string& name, std::optional<int> status = {},
                 const strings& more = {}) {
    json found;
    const json all = findings(store, status, more);
    for (const auto& each : all) {
      if (each["condition"] == name && (found.is_null() || found["result"] == "kept")) found = each;
    }
    if (found.is_null()) ADD_FAILURE() << "nothing is said of " << name << ": " << all;
    return found;
  }
  void look(doctor_record& to, const std::string& state, const std::string& store, const strings& more = {}) {
    to.add(state, findings(store, {}, more));
  }
  /// A state of a server, which begins with statements and ends with others that take it back.
  struct state {
    std::string name;
    std::string url;
    strings before{};
    strings after{};
  };
  template <class Server, class After>
  void look_at_each(doctor_record& to, Server& server, const std::vector<state>& all, After after) {
    for (const state& each : all) {
      for (const std::string& statement : each.before) server.ask(statement);
      look(to, each.name, each.url);
      for (const std::string& statement : each.after) server.ask(statement);
      after(each.name);
    }
  }
  /// It is not kept, and the finding says what that means and what mends it.
  static void is(const json& one, const std::string& result, const std::string& observed,
                 const std::string& remedy = {}) {
    ASSERT_TRUE(one.is_object());
    EXPECT_EQ(one["result"], result) << one;
    EXPECT_THAT(one["observed"].get<std::string>(), testing::HasSubstr(observed));
    EXPECT_THAT(one["remedy"].get<std::string>(), testing::HasSubstr(remedy));
    EXPECT_FALSE(one["meaning"].get<std::string>().empty()) << one;
    EXPECT_FALSE(one["remedy"].get<std::string>().empty()) << one;
  }
  static void is_kept(const json& one, const std::string& observed = {}) {
    ASSERT_TRUE(one.is_object());
    EXPECT_EQ(one["result"], "kept") << one;
    EXPECT_THAT(one["observed"].get<std::string>(), testing::HasSubstr(observed));
    EXPECT_EQ(one["meaning"], "") << one;
  }
  /// Where the store is away, as of other commands.
  void expect_out_of_reach(const std::string& store) {
    const auto run = holdfast({"doctor", "--store", store});
    EXPECT_EQ(run.status, 69);
    EXPECT_THAT(run.err, testing::HasSubstr("cannot examine " + store));
    EXPECT_TRUE(run.out.empty());
  }
};

}  // namespace holdfast::test
