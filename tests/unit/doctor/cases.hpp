// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <gtest/gtest.h>
#include <initializer_list>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stores/doctor/examination.hpp"

namespace holdfast::test {

/// "role=slave;master_host=db-2"
inline doctor::facts facts_of(std::string_view text) {
  doctor::facts of{"db-1"};
  while (!text.empty()) {
    const std::string_view each = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(text.size(), each.size() + 1));
    const std::size_t at = each.find('=');
    of.set(each.substr(0, at), each.substr(at + 1));
  }
  return of;
}

/// Facts, and the finding that a table has then.
struct doctor_case {
  const char* facts;
  const char* condition;
  finding::grade result;
  const char* observed;  // a part of it
};

/// Each row of a table is what is said in one of the cases, and says enough.
inline void expect_each_row(std::span<const doctor::condition> table,
                            std::initializer_list<doctor_case> cases) {
  std::set<const doctor::condition*> reached;
  for (const doctor_case& each : cases) {
    const doctor::facts of = facts_of(each.facts);
    std::vector<finding> all;
    doctor::examine(table, of, all);
    const auto found = std::ranges::find(all, each.condition, &finding::condition);
    if (found == all.end()) {
      ADD_FAILURE() << "nothing is said of " << each.condition << " for " << each.facts;
      continue;
    }
    EXPECT_EQ(found->result, each.result) << each.facts << ": " << found->observed;
    EXPECT_NE(found->observed.find(each.observed), std::string::npos)
        << each.facts << ": " << found->observed;
    for (const doctor::condition& row : table) {
      if (row.name == found->condition && row.result == found->result &&
          doctor::fill(row.observed, of) == found->observed &&
          doctor::fill(row.meaning, of) == found->meaning && doctor::fill(row.remedy, of) == found->remedy)
        reached.insert(&row);
    }
  }
  for (const doctor::condition& row : table) {
    EXPECT_TRUE(reached.contains(&row)) << row.name << ": " << row.observed;
    EXPECT_EQ(row.result == finding::grade::kept, row.meaning.empty()) << row.observed;
    EXPECT_EQ(row.result == finding::grade::kept, row.remedy.empty()) << row.observed;
  }
}

}  // namespace holdfast::test
