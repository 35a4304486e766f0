// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "process.hpp"

namespace holdfast::test {

using json = nlohmann::json;
using strings = std::vector<std::string>;

/// Each test has a store file of its own; the command finds it in HOLDFAST_STORE.
class command_test : public testing::Test {
 protected:
  /// Starts the command with these arguments.
  std::unique_ptr<process> start(const strings& arguments, process::settings settings = {});
  /// Runs it to its end.
  result holdfast(const strings& arguments, const process::settings& settings = {});

  /// Starts `run` of this lock around a shell script that says when it has begun, and waits for that. The
  /// script finds the scratch folder in $D.
  std::unique_ptr<process> start_holder(const std::string& name, const strings& options = {},
                                        const std::string& script = "exec sleep 1000");
  /// The process id of the script that start_holder() began last.
  [[nodiscard]] pid_t holder_pid() const;

  /// What `show --json` says of a lock.
  json show(const std::string& name);
  /// Whether the store has so many waiters for it.
  bool waiters(const std::string& name, std::size_t count);
  bool held(const std::string& name) { return !show(name)["holders"].empty(); }

  [[nodiscard]] std::string file(std::string_view name) const { return scratch_.file(name); }
  [[nodiscard]] std::string store() const { return "sqlite:" + file("locks.db"); }
  [[nodiscard]] strings environment() const;

  scratch_folder scratch_;
};

/// Every line of a text as JSON; fails the test where one is not.
std::vector<json> parse_lines(const std::string& text);
/// Likewise, of the output of a process that still writes: without a line that is not complete.
std::vector<json> whole_lines(const std::string& text);

}  // namespace holdfast::test
