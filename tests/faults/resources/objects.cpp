// SPDX-License-Identifier: Apache-2.0
// An object store with conditional writes: moto's server of S3. It is left out where scripts/setup has not
// brought it.

#include <filesystem>
#include <gmock/gmock.h>
#include <sstream>

#include "faults/paused_writer.hpp"
#include "support/child_process.hpp"
#include "support/reserved_port.hpp"

namespace holdfast::faults {
namespace {

using strings = std::vector<std::string>;

/// What a read of an object says: "TOKEN\nTEXT" is its content.
struct object {
  std::string etag;  ///< empty: there is none
  std::uint64_t token = 0;
  std::string text;
};

class object_store : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(std::filesystem::exists(HOLDFAST_TEST_MOTO)) << "scripts/setup installs moto";
    server_.emplace(
        strings{"/usr/bin/python3", "-m", "moto.server", "--port", std::to_string(port_.number())},
        test::child_process::settings{.environment = {"PYTHONPATH=" HOLDFAST_TEST_MOTO}});
    await([&] { return status({"--request", "PUT", url("")}) == "200"; }, "it makes no bucket");
  }

  [[nodiscard]] std::string url(const std::string& key) const {
    return "http://127.0.0.1:" + std::to_string(port_.number()) + "/bucket/" + key;
  }
  static strings curl(const strings& options) {
    strings command{"curl", "--silent", "--noproxy", "*",           "--max-time",
                    "60",   "--user",   "test:test", "--aws-sigv4", "aws:amz:us-east-1:s3"};
    command.insert(command.end(), options.begin(), options.end());
    return command;
  }
  static std::string status(strings options) {
    options.insert(options.end(), {"--output", "/dev/null", "--write-out", "%{http_code}\n"});
    return actor{curl(options), {}}.hear();
  }
  [[nodiscard]] strings put(const std::string& content, const strings& conditions) const {
    strings options{"--request",     "PUT",   "--header",  "Content-Type: text/plain",
                    "--data-binary", content, url("stock")};
    for (const std::string& each : conditions) options.insert(options.end(), {"--header", each});
    return options;
  }
  [[nodiscard]] object read() const {
    actor reader{curl({url("stock"), "--write-out", "\n%{http_code}\n%header{etag}\n"}), {}};
    object found;
    const std::string first = reader.hear();
    const std::string text = reader.hear();
    if (reader.hear() != "200") return found;
    found.token = std::stoull(first);
    found.text = text;
    found.etag = reader.hear();
    return found;
  }
  /// The condition that the object is still the one that was read.
  static std::string unless_changed(const object& seen) {
    return seen.etag.empty() ? "If-None-Match: *" : "If-Match: " + seen.etag;
  }
  /// Makes the token that of the object. \return nothing if there is a newer one.
  [[nodiscard]] std::optional<object> show(fencing_token token) const {
    for (;;) {
      object seen = read();
      if (seen.token > token.value()) return std::nullopt;
      if (seen.token == token.value()) return seen;
      const auto content = std::to_string(token.value()) + '\n' + seen.text;
      EXPECT_THAT(status(put(content, {unless_changed(seen)})), testing::AnyOf("200", "412"));
    }
  }
  [[nodiscard]] strings write(fencing_token token, const std::string& text, const strings& conditions) const {
    return put(std::to_string(token.value()) + '\n' + text, conditions);
  }

 private:
  test::reserved_port port_;
  std::optional<test::child_process> server_;
};

TEST_F(object_store, keeps_the_late_write_of_a_paused_holder_away_by_its_condition) {
  for (const bool checked : {false, true}) {
    fencing_token late;
    const auto write_late = [&](fencing_token token) {
      late = token;
      strings conditions;
      if (checked) conditions.push_back(unless_changed(show(token).value()));
      auto options = write(token, "late", conditions);
      options.emplace_back("--fail");
      return curl(options);
    };
    const auto succeed = [&](fencing_token token) {
      const auto seen = show(token);
      EXPECT_EQ(status(write(token, "newer", {unless_changed(seen.value())})), "200");
      EXPECT_FALSE(show(late)) << "a late holder that reads gives up";
    };
    constexpr int refused = 22;  // of curl: the server answered 400 or above
    EXPECT_EQ(status_of_late_write("memory:", write_late, succeed), checked ? refused : 0);
    EXPECT_EQ(read().text, checked ? "newer" : "late");
    EXPECT_EQ(status({"--request", "DELETE", url("stock")}), "204");
  }
}

/// So the token is in the content: the condition of a late holder would hold.
TEST_F(object_store, changes_no_etag_with_the_metadata) {
  EXPECT_EQ(status(write({}, "same", {"x-amz-meta-token: 33"})), "200");
  const auto seen = read();
  EXPECT_EQ(status(write({}, "same", {"x-amz-meta-token: 34"})), "200");
  EXPECT_EQ(status(write({}, "late", {unless_changed(seen)})), "200");
}

}  // namespace
}  // namespace holdfast::faults
