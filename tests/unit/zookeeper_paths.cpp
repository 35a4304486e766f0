// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <set>
#include <string>

#include "stores/zookeeper/protocol/layout.hpp"
#include "stores/zookeeper/protocol/paths.hpp"

namespace holdfast::zookeeper {
namespace {

/// Names made of what matters to paths: slashes, dots, percent signs, the words that recipes reserve, and
/// characters that ZooKeeper refuses.
rc::Gen<std::string> awkward() {
  auto piece =
      rc::gen::elementOf(std::vector<std::string>{"/",
                                                  "/",
                                                  ".",
                                                  "..",
                                                  "%",
                                                  "%2F",
                                                  "a",
                                                  "b",
                                                  "locks",
                                                  "leases",
                                                  "zookeeper",
                                                  "lock-0000000001",
                                                  "2E",
                                                  "_c_01234567-89ab-cdef-0123-456789abcdef-lock-0000000001",
                                                  "\xEE\x80\x80",
                                                  "\xEF\xA3\xBF",
                                                  "\xEF\xBF\xBD",
                                                  "\xEF\xA4\x80",
                                                  "\xF0\x9F\x94\x92",
                                                  "__READ__0000000001"});
  return rc::gen::map(rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(std::move(piece))),
                      [](const std::vector<std::string>& pieces) {
                        std::string name;
                        for (const std::string& p : pieces) name += p;
                        return name;
                      });
}

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  for (std::size_t at = 1; at <= path.size();) {
    const std::size_t slash = std::min(path.find('/', at), path.size());
    parts.push_back(path.substr(at, slash - at));
    at = slash + 1;
  }
  return parts;
}

TEST(zookeeper_paths, are_what_a_recipe_would_be_given_in_the_usual_case) {
  EXPECT_EQ(path_of("", "stock/sku-42"), "/stock/sku-42");
  EXPECT_EQ(path_of("/apps/shop", "nightly"), "/apps/shop/nightly");
}

TEST(zookeeper_paths, escape_what_would_be_refused_or_taken_for_something_else) {
  EXPECT_EQ(path_of("", "/a"), "/%/a");
  EXPECT_EQ(path_of("", "a//b"), "/a/%/b");
  EXPECT_EQ(path_of("", "a/."), "/a/%2E");
  EXPECT_EQ(path_of("", "../a"), "/%2E./a");
  EXPECT_EQ(path_of("", "50%"), "/50%25");
  EXPECT_EQ(path_of("", "zookeeper/quota"), "/%7Aookeeper/quota");
  EXPECT_EQ(path_of("/apps", "zookeeper"), "/apps/zookeeper") << "there it is nobody's";
  EXPECT_EQ(path_of("", "a/locks"), "/a/%6Cocks");
  EXPECT_EQ(path_of("", "a/leases"), "/a/%6Ceases");
  EXPECT_EQ(path_of("", "locks"), "/locks");
  EXPECT_EQ(path_of("", "a/lock-0000000001"), "/a/lock-000000000%31");
  EXPECT_EQ(path_of("", "a/db-lock-0000000001"), "/a/db-lock-0000000001") << "no recipe names its nodes so";
  EXPECT_EQ(path_of("", "\xEE\x80\x80"), "/%EE%80%80");
  EXPECT_EQ(path_of("", "\xF0\x9F\x94\x92"), "/%F0%9F%94%92") << "Java sees two halves, and refuses them";
}

RC_GTEST_PROP(zookeeper_paths, lead_back_to_their_names, ()) {
  const std::string name = *awkward();
  const std::string root = *rc::gen::elementOf(std::vector<std::string>{"", "/apps", "/a/b"});
  const auto back = name_of(root, path_of(root, name));
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == name);
}

RC_GTEST_PROP(zookeeper_paths, are_not_shared_by_two_names, ()) {
  std::set<std::string> names;
  for (int i = 0; i < 50; ++i) names.insert(*awkward());
  std::set<std::string> paths;
  for (const std::string& name : names) paths.insert(path_of("", name));
  RC_ASSERT(paths.size() == names.size());
}

RC_GTEST_PROP(zookeeper_paths, are_accepted_by_servers, ()) {
  const std::string path = path_of("", *awkward());
  const auto parts = parts_of(path);
  RC_ASSERT(parts.front() != "zookeeper");
  for (const std::string& part : parts) {
    RC_ASSERT(!part.empty() && part != "." && part != "..");
    RC_ASSERT(!looks_like_contender(part));
    for (std::size_t i = 0; i + 2 < part.size(); ++i) {  // U+E000 to U+F8FF, U+FFF0 to U+FFFF
      const auto at = [&](std::size_t n) { return static_cast<unsigned char>(part[i + n]); };
      RC_ASSERT(at(0) != 0xEE);
      RC_ASSERT(at(0) != 0xEF || (at(1) > 0xA3 && !(at(1) == 0xBF && at(2) >= 0xB0)));
    }
  }
}

TEST(zookeeper_paths, that_no_name_leads_to_have_none) {
  for (const char* path : {"", "/", "/a%", "/a%2", "/a%zz", "/%61", "a", "/a/%2e", "/a//b", "/.."}) {
    EXPECT_FALSE(name_of("", path)) << path;
  }
  EXPECT_FALSE(name_of("/apps", "/other/a"));
  EXPECT_FALSE(name_of("/apps", "/apps"));
  EXPECT_FALSE(name_of("/apps", "/appsa/b"));
}

TEST(zookeeper_paths, know_the_nodes_above) {
  EXPECT_EQ(parents_of("/a/b/c"), (std::vector<std::string>{"/a", "/a/b"}));
  EXPECT_TRUE(parents_of("/a").empty());
}

TEST(zookeeper_paths, a_root_is_a_path_or_nothing) {
  EXPECT_FALSE(problem_of_root(""));
  EXPECT_FALSE(problem_of_root("/apps/shop"));
  EXPECT_TRUE(problem_of_root("/apps//shop"));
  EXPECT_TRUE(problem_of_root("/apps/.."));
}

}  // namespace
}  // namespace holdfast::zookeeper
