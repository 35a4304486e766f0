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
};

const test_on tested{server_kind{.name = "redis", .start = [](const server_settings& settings) {
                                   return std::make_unique<redis>(settings);
                                 }}};

}  // namespace
