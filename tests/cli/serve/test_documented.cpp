// SPDX-License-Identifier: Apache-2.0
// What docs/operating.md tells people to type, typed.

#include <filesystem>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sstream>

#include "cli/serve/fixture.hpp"

namespace holdfast::test {
namespace {

using testing::HasSubstr;

class serve_documented : public serve_test {
 protected:
  /// The commands of the page, without the one with the other path.
  std::string lines(const std::string& without) const {
    const auto page = contents(HOLDFAST_DOCS "/operating.md");
    const auto begin = page.find("  url=http://127.0.0.1:8377\n");
    EXPECT_NE(begin, std::string::npos);
    std::string script;
    std::size_t curls = 0;
    std::istringstream all{page.substr(begin, page.find("  ```\n", begin) - begin)};
    for (std::string line; std::getline(all, line);) {
      if (line.find("curl") != std::string::npos) ++curls;
      if (!line.ends_with(without + "\"")) script += line + "\n";
    }
    EXPECT_EQ(curls, 2U);
    return script;
  }
  static void replace(std::string& text, const std::string& old_text, const std::string& new_text) {
    const auto at = text.find(old_text);
    ASSERT_NE(at, std::string::npos) << old_text;
    text.replace(at, old_text.size(), new_text);
  }
  result type(std::string script) {
    replace(script, "127.0.0.1:8377", authority());
    replace(script, "FILE", file("secret"));
    process shell{scratch_, {"sh", "-c", script}, {}};
    return shell.wait();
  }
};

TEST_F(serve_documented, commands_ask_a_holder_and_end_its_hold) {
  write_file(file("secret"), "0123456789abcdef0123456789abcdef\n");
  std::filesystem::permissions(file("secret"), std::filesystem::perms::owner_read);
  const auto holder = start_holder("nightly");
  serve({"--allow-release", "--secret-file", file("secret")});
  auto ask = lines("/release");
  replace(ask, "NAME", "nightly");
  const auto reply = type(ask);
  EXPECT_EQ(json::parse(reply.out, nullptr, false)["asked"], 1) << reply.out << reply.err;
  EXPECT_EQ(show("nightly")["holders"][0]["release_request"], "TEXT");
  auto release = lines("/ask");
  replace(release, "NAME", "nightly");
  replace(release, "TOKEN", show("nightly")["holders"][0]["token"].dump());
  const auto end = type(release);
  EXPECT_EQ(json::parse(end.out, nullptr, false)["ended"], 1) << end.out << end.err;
  EXPECT_FALSE(held("nightly"));
}

}  // namespace
}  // namespace holdfast::test
