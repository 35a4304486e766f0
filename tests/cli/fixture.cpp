// SPDX-License-Identifier: Apache-2.0
#include "fixture.hpp"

#include <algorithm>
#include <sstream>

namespace holdfast::test {

strings command_test::environment() const {
  return {"HOLDFAST_STORE=" + store(), "XDG_STATE_HOME=" + file("state"), "D=" + scratch_.path().string()};
}

std::unique_ptr<process> command_test::start(const strings& arguments, process::settings settings) {
  strings all{HOLDFAST_COMMAND};
  all.insert(all.end(), arguments.begin(), arguments.end());
  for (const auto& variable : environment()) {
    const auto name = variable.substr(0, variable.find('=') + 1);
    const bool given =
        std::ranges::any_of(settings.environment, [&](auto& each) { return each.starts_with(name); });
    if (!given) settings.environment.push_back(variable);
  }
  return std::make_unique<process>(scratch_, all, settings);
}

result command_test::holdfast(const strings& arguments, const process::settings& settings) {
  return start(arguments, settings)->wait();
}

std::unique_ptr<process> command_test::start_holder(const std::string& name, const strings& options,
                                                    const std::string& script) {
  std::filesystem::remove(file("begun"));
  strings arguments{"run", name};
  arguments.insert(arguments.end(), options.begin(), options.end());
  // Written under another name first: who sees the file sees all of it.
  const auto whole = "echo $$ >\"$D/begun.new\"; mv \"$D/begun.new\" \"$D/begun\"\n" + script;
  arguments.insert(arguments.end(), {"--", "sh", "-c", whole});
  auto holder = start(arguments);
  EXPECT_TRUE(eventually([&] { return std::filesystem::exists(file("begun")) || !holder->running(); }));
  EXPECT_TRUE(std::filesystem::exists(file("begun"))) << holder->err();
  return holder;
}

pid_t command_test::holder_pid() const { return std::atoi(contents(file("begun")).c_str()); }

json command_test::show(const std::string& name) {
  const auto shown = holdfast({"show", name, "--json"});
  EXPECT_EQ(shown.status, 0) << shown.err;
  return json::parse(shown.out);
}

bool command_test::waiters(const std::string& name, std::size_t count) {
  return eventually([&] { return show(name)["waiters"].size() == count; });
}

std::vector<json> parse_lines(const std::string& text) {
  std::vector<json> objects;
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) {
    auto object = json::parse(line, nullptr, false);
    EXPECT_TRUE(object.is_object()) << line;
    objects.push_back(std::move(object));
  }
  return objects;
}

std::vector<json> whole_lines(const std::string& text) {
  return parse_lines(text.substr(0, text.rfind('\n') + 1));
}

}  // namespace holdfast::test
