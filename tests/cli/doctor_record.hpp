// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace holdfast::test {

/// What `holdfast doctor` says of a store in one state after the other, to be compared with a golden file:
/// all that it says in the first state, and of each other state what it does not say in the first. With
/// HOLDFAST_WRITE_GOLDEN in the environment the file is written instead.
class doctor_record {
 public:
  /// \param name of the file below tests/cli/doctor.
  explicit doctor_record(const std::string& name) : path_{HOLDFAST_GOLDEN "/" + name + ".txt"} {}

  /// A text that differs from run to run, and the word for it in the file. The first ones win.
  void replace(const std::string& text, std::string word) {
    replaced_.emplace_back(
        std::regex{std::regex_replace(text, std::regex{R"([.\\+*?\[\](){}^$|])"}, R"(\$&)")},
        std::move(word));
  }
  /// Likewise, of what the expression matches.
  void replace_all(const std::string& expression, std::string words) {
    replaced_.emplace_back(std::regex{expression}, std::move(words));
  }

  void add(const std::string& state, const nlohmann::json& findings) {
    const bool is_first = text_.empty();
    text_ += fmt::format("{}== {}\n", is_first ? "" : "\n", state);
    std::multiset<std::string> all;  // servers have an order of their own
    for (const auto& each : findings)
      if (each["condition"] != "vm clock")
        all.insert(text_of(each));  // that is of the host that runs the test
    for (const std::string& said : all) {
      if (is_first) first_.insert(said);
      if (is_first || !first_.contains(said)) text_ += said;
    }
  }

  void compare() const {
    if (std::getenv("HOLDFAST_WRITE_GOLDEN") != nullptr) {
      std::ofstream{path_} << text_;
      return;
    }
    std::ostringstream golden;
    golden << std::ifstream{path_}.rdbuf();
    EXPECT_EQ(text_, golden.str()) << path_;
  }

 private:
  [[nodiscard]] std::string text_of(const nlohmann::json& one) const {
    const auto of = [&](const char* member) { return one[member].get<std::string>(); };
    std::string said =
        fmt::format("{} of {}: {}: {}\n", of("condition"), of("subject"), of("result"), of("observed"));
    if (of("result") != "kept") said += fmt::format("  {}\n  mend: {}\n", of("meaning"), of("remedy"));
    for (const auto& [text, word] : replaced_) said = std::regex_replace(said, text, word);
    return said;
  }

  std::string path_;
  std::vector<std::pair<std::regex, std::string>> replaced_;
  std::set<std::string> first_;
  std::string text_;
};

}  // namespace holdfast::test
