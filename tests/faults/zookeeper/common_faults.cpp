// SPDX-License-Identifier: Apache-2.0
#include "faults/servers/servers.hpp"
#include "support/zookeeper_server.hpp"

namespace {

using namespace holdfast::faults;

class zookeeper final : public wrapped<server, holdfast::test::zookeeper_server> {
 public:
  explicit zookeeper(const server_settings& /*how*/) : wrapped{{}} {}
  /// Long sessions: what stays behind a cut does not go by itself.
  [[nodiscard]] std::string url(std::uint16_t port, const std::string& options) const override {
    return "zk://127.0.0.1:" + std::to_string(port) + (options.empty() ? "?session_timeout=10s" : options);
  }
  /// But for that of who asks.
  std::int64_t connections() override { return real_.monitored("zk_num_alive_connections") - 1; }
  std::map<std::string, remains> what_is_left() override {
    return {{"sessions", {real_.monitored("zk_global_sessions")}},
            {"watches", {real_.monitored("zk_watch_count")}},
            {"ephemeral nodes", {real_.monitored("zk_ephemerals_count")}}};
  }
};

const test_on tested{server_kind{
    .name = "zookeeper",
    .keeps_sessions = true,
    .has_clock = false,
    .many_clients = 1000,
    .start = [](const server_settings& settings) { return std::make_unique<zookeeper>(settings); }}};

}  // namespace
