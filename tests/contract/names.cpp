// SPDX-License-Identifier: Apache-2.0
// Names are bytes: what looks alike, or looks like syntax, is a lock of its own.

#include <algorithm>

#include "contract/contract.hpp"

namespace holdfast::contract {
namespace {

// Each is a trap for some store: quotes and wildcards of SQL, escapes of URLs, hash tags of Redis, paths of
// ZooKeeper, and the foldings of case, trailing spaces, width and normal form that collations apply.
const std::vector<std::string> hostile_names{
    "a",
    "A",
    "a ",
    " a",
    "a  ",
    " ",
    "'",
    "''",
    "\"",
    "`",
    "\\",
    "\\'",
    "a'; drop table holdfast_locks; --",
    "%",
    "%25",
    "%00",
    "%s%n%d%",
    "\\x27",
    "_",
    "a%",
    "*",
    "?",
    "[a]",
    "{a}",
    "{a}b",
    "{}",
    "}{",
    ".",
    "..",
    "../a",
    "/",
    "//",
    "/a",
    "a/",
    "a/../a",
    "a//b",
    "a:b",
    "holdfast:a",
    "NULL",
    "0",
    "00",
    "0x0",
    "1e3",
    "1000",
    "$1",
    ":name",
    "?1",
    "${HOME}",
    "$(id)",
    "\u00e9",   // one code point
    "e\u0301",  // two that look the same
    "\u00c9",   // its capital
    "e",        // without its accent
    "ss",       // and what a collation takes for it
    "\u00df",
    "\u0130",  // the dotted capital I
    "i",
    "I",
    "\uff41",      // a full-width a
    "\u212b",      // the sign for angstrom
    "\u00c5",      // and the letter
    "a\u00a0",     // a space that does not break
    "a\u200b",     // and one of no width
    "\ufeffa",     // a byte order mark
    "\U0001f512",  // beyond what three bytes hold
    "\U0001f513",
    std::string(511, 'x'),
    std::string(512, 'x'),
    std::string(511, 'x') + 'y',
    std::string(512, '\''),
    "lock-0000000001",
    "_c_00000000-0000-0000-0000-000000000000-lock-0000000001",
    "leases",
};

class names : public on_each_store {};

TEST_P(names, never_alias) {
  std::vector<lease> held;
  for (const auto& name : hostile_names) {
    auto got = mutex{one(), name}.try_acquire();
    ASSERT_TRUE(got) << "'" << name << "' is taken for another name";
    EXPECT_EQ(got->name(), name);
    held.push_back(std::move(*got));
  }
  for (const auto& name : hostile_names) {
    EXPECT_FALSE(mutex(two(), name).try_acquire()) << "'" << name << "'";
    EXPECT_EQ(inspect(name).name, name);
  }

  auto wanted = hostile_names;
  std::sort(wanted.begin(), wanted.end());
  std::vector<std::string> listed;
  for (const auto& line : bystander().list()) listed.push_back(line.name);
  EXPECT_THAT(listed, testing::ContainerEq(wanted));

  for (auto& lease : held) EXPECT_FALSE(lease.release()) << "'" << lease.name() << "'";
}

TEST_P(names, in_metadata_do_no_harm_either) {
  for (const auto& text : hostile_names) {
    if (text.size() > 256) continue;
    const auto held = mutex{one(), "stock", lock_options{}.label(text)}.acquire();
    EXPECT_EQ(inspect("stock").holders.at(0).claimant.label, text);
  }
}

TEST_P(names, that_are_not_valid_are_refused_before_anything_is_asked) {
  const std::vector<std::string> bad{"",
                                     std::string(513, 'x'),
                                     std::string("a\0b", 3),
                                     "a\nb",
                                     "a\rb",
                                     "\t",
                                     "\x7f",
                                     "\xc2\x85",
                                     "\xff",
                                     "\xc3",
                                     "\xed\xa0\x80",
                                     "\xc0\x80"};
  for (const auto& name : bad) {
    EXPECT_EQ(failure_of([&] { return std::make_unique<mutex>(one(), name); }).code, errc::invalid_name)
        << name;
    EXPECT_EQ(failure_of([&] { return one().inspect(name); }).code, errc::invalid_name) << name;
  }
}

HOLDFAST_ON_EACH_STORE(names, any_store);

}  // namespace
}  // namespace holdfast::contract
