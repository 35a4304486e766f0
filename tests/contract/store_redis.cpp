#include <atomic>

#include "contract/stores.hpp"
#include "support/redis_server.hpp"

namespace {

using holdfast::contract::extent;
using holdfast::test::redis_server;

// One server for all tests of this process: they do not see one another, because each has names of its own.
// One more for those over TLS: not every server that these tests run on can do that.
redis_server& plain() {
  static redis_server shared;
  return shared;
}
redis_server& secure() {
  static redis_server shared{{.tls = true}};
  return shared;
}

class redis_store final : public holdfast::contract::store {
 public:
  using place = std::string (*)(redis_server&, const std::string& prefix);
  redis_store(redis_server& server, place where) : server_{server}, where_{where} {}

  [[nodiscard]] std::string url() const override {
    return where_(server_, "contract-" + std::to_string(number_) + ':');
  }
  // Connections stay, and what is sent meanwhile is carried out afterwards, whoever still wants it.
  void stop_answering() override { server_.stop(); }
  void answer_again() override { server_.go_on(); }

 private:
  static inline std::atomic<int> started{0};
  redis_server& server_;
  place where_;
  int number_ = ++started;
};

holdfast::contract::store_kind kind(std::string name, std::string scheme, extent in_gate,
                                    redis_server& (*server)(), redis_store::place where) {
  return {.name = std::move(name),
          .scheme = std::move(scheme),
          .across_processes = true,
          .breakable = true,
          .in_gate = in_gate,
          .start = [server, where] { return std::make_unique<redis_store>(server(), where); }};
}

const holdfast::contract::test_on redis{
    kind("redis", "redis", extent::whole, plain,
         [](redis_server& at, const std::string& prefix) { return at.url("?prefix=" + prefix); })};
const holdfast::contract::test_on rediss{
    kind("rediss", "rediss", extent::smoke, secure,
         [](redis_server& at, const std::string& prefix) { return at.tls_url("?prefix=" + prefix); })};
const holdfast::contract::test_on unix_socket{
    kind("unix", "unix", extent::smoke, plain, [](redis_server& at, const std::string& prefix) {
      return "unix:" + at.socket() + "?failover_guard=0&prefix=" + prefix;
    })};

}  // namespace
