// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "faults/servers/servers.hpp"
#include "support/redis_server.hpp"

namespace {

using namespace holdfast::faults;

class redis final : public wrapped<server, holdfast::test::redis_server> {
 public:
  explicit redis(const server_settings& settings)
      : wrapped{{.append_only = settings.durable, .own_clock = settings.own_clock}} {}
  [[nodiscard]] std::string url(std::uint16_t port, const std::string& options) const override {
    return "redis://127.0.0.1:" + std::to_string(port) + options + (options.empty() ? "?" : "&") +
           "failover_guard=0";
  }
  std::int64_t connections() override { return real_.info("connected_clients") - 1; }
  std::map<std::string, remains> what_is_left() override {
    const std::filesystem::directory_iterator descriptors{"/proc/" + std::to_string(real_.pid()) + "/fd"};
    return {{"scripts", {real_.info("number_of_cached_scripts")}},
            {"keys", {std::stoll(real_.ask({"DBSIZE"}))}},
            {"channels", {real_.info("pubsub_channels")}},
            {"descriptors", {std::distance(descriptors, {})}},
            {"bytes", {real_.info("used_memory"), 1'000'000}}};
  }
  /// Of processes that are no longer there.
  void queue(const holdfast::lease& behind, std::size_t count, std::size_t text_size) override {
    const std::string side = "{holdfast:" + behind.name() + "}\x1f";
    const char* const script = R"(
      local clock = redis.call('TIME')
      for i = 1, tonumber(ARGV[1]) do
        local token, owner = string.format('%020.0f', ARGV[2] + i), string.format('%032x', i)
        redis.call('ZADD', KEYS[1], token,
          table.concat({ token, owner, token, string.rep('c', 32), 1073741824, 1073741824, 3600000, ARGV[3] }, ' '),
          '-' .. token, owner, string.format('-%.0f', clock[1] * 1000 + 3600000), 'end ' .. owner)
      end
      redis.call('SET', KEYS[2], string.format('%020.0f others', ARGV[2] + ARGV[1])))";
    const std::string metadata = R"({"host":"alpha","pid":7,"program":"worker","label":")" +
                                 std::string(std::max<std::size_t>(text_size, 7), 'x') + "\"}";
    const std::string answer =
        real_.ask({"EVAL", script, "2", side + "waiters", side + "fence", std::to_string(count),
                   std::to_string(behind.token().value()), metadata});
    EXPECT_EQ(answer, "(nil)") << "what a script without a result returns";
  }
  void end_first_queued(const holdfast::lease& behind) override {
    const auto seconds = std::stoll(real_.ask({"EVAL", "return redis.call('TIME')[1]", "0"}));
    EXPECT_EQ(real_.ask({"ZADD", "{holdfast:" + behind.name() + "}\x1fwaiters",
                         std::to_string(60'000 - seconds * 1000), "end " + std::string(31, '0') + "1"}),
              "0");
  }
};

const test_on tested{
    server_kind{.name = "redis",
                .some_clients = 600,
                .many_clients = 10'000,
                .start = [](const server_settings& settings) { return std::make_unique<redis>(settings); }}};

}  // namespace
