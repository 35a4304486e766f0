// SPDX-License-Identifier: Apache-2.0
// The command lines of README.md, docs and the man page name commands and options that the command has.

#include <filesystem>
#include <gmock/gmock.h>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "fixture.hpp"

namespace holdfast::test {
namespace {

namespace fs = std::filesystem;

std::set<std::string> matches(const std::string& text, const char* pattern) {
  const std::regex form{pattern};
  std::set<std::string> all;
  for (std::sregex_iterator each{text.begin(), text.end(), form}, end; each != end; ++each) {
    all.insert((*each)[1].str());
  }
  return all;
}

class documented_commands : public command_test {
 protected:
  /// The commands that exist, each with its options.
  std::map<std::string, std::set<std::string>> all_options() {
    const auto list = holdfast({"help"}).out;
    std::map<std::string, std::set<std::string>> all;
    for (const std::string& name : matches(list.substr(list.find("\nCommands:")), "\n  ([a-z]+) ")) {
      all[name] = matches(holdfast({"help", name}).out, "[ ,](--?[A-Za-z][a-z-]*)");
    }
    return all;
  }
  static std::vector<fs::path> pages() {
    const fs::path docs{HOLDFAST_DOCS};
    std::vector<fs::path> all{docs.parent_path() / "README.md", docs.parent_path() / "cli/holdfast.1"};
    for (const auto& each : fs::recursive_directory_iterator{docs}) {
      if (each.path().extension() == ".md") all.push_back(each.path());
    }
    return all;
  }
  /// A command line stays one line: where a shell's line goes on, and in the text between the blocks of code.
  static std::string joined(const std::string& page, bool has_blocks) {
    std::istringstream lines{page};
    std::string all;
    bool in_block = !has_blocks;
    for (std::string line; std::getline(lines, line);) {
      if (has_blocks && line.find("```") != std::string::npos) in_block = !in_block;
      const bool goes_on = in_block ? line.ends_with('\\') : !line.empty();
      if (in_block && goes_on) line.pop_back();
      all += line + (goes_on ? ' ' : '\n');
    }
    return all;
  }
};

TEST_F(documented_commands, have_the_options_that_the_command_has) {
  const auto all = all_options();
  ASSERT_GT(all.size(), 10U);
  std::size_t found = 0;
  for (const fs::path& page : pages()) {
    SCOPED_TRACE(page.string());
    const std::string text = joined(contents(page), page.extension() == ".md");
    const std::regex form{"(`?)holdfast ([a-z]+)([^\n`|;#]*)"};
    for (std::sregex_iterator each{text.begin(), text.end(), form}, end; each != end; ++each) {
      const auto known = all.find((*each)[2]);
      if (known == all.end()) {
        EXPECT_EQ((*each)[1], "") << "there is no such command: " << each->str();
        continue;
      }
      ++found;
      const std::string arguments = (*each)[3];
      for (const std::string& option :
           matches(arguments.substr(0, arguments.find(" -- ")), "[ (\\[](--?[A-Za-z][a-z-]*)")) {
        EXPECT_TRUE(known->second.contains(option)) << option << " in: " << each->str();
      }
    }
  }
  EXPECT_GT(found, 100U);
}

/// In the language mdoc: `.Cm run Ar name`, `.Op Fl -ttl Ar duration`, `.It Fl q , -quiet`.
TEST_F(documented_commands, have_all_their_options_in_the_man_page) {
  const auto page = contents(fs::path{HOLDFAST_DOCS}.parent_path() / "cli/holdfast.1");
  const auto begin = page.find("\n.Sh SYNOPSIS");
  const auto end = page.find("\n.Sh DESCRIPTION");
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  std::istringstream synopsis{page.substr(begin, end - begin)};
  std::map<std::string, std::set<std::string>> shown;
  std::string command;
  for (std::string line; std::getline(synopsis, line);) {
    if (line == ".Nm") command.clear();
    if (line.starts_with(".Cm ")) command = line.substr(4, line.find(' ', 4) - 4);
    for (const std::string& name : matches(line, "Fl (-?[A-Za-z][a-z-]*)")) shown[command].insert('-' + name);
  }
  const auto text = page.substr(end);
  auto explained = matches(text, "Fl (-[a-z-]+)");
  explained.merge(matches(text, "Fl [A-Za-z] , (-[a-z-]+)"));
  for (const auto& [name, options] : all_options()) {
    for (const std::string& option : shown[name]) {
      EXPECT_TRUE(options.contains(option)) << "there is no " << name << ' ' << option;
    }
    for (const std::string& option : options) {
      if (!option.starts_with("--") || option == "--help") continue;
      EXPECT_TRUE(explained.contains(option.substr(1))) << "the page lacks " << name << ' ' << option;
    }
  }
}

}  // namespace
}  // namespace holdfast::test
