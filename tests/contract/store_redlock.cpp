#include <atomic>

#include "contract/stores.hpp"
#include "support/redis_quorum.hpp"

namespace {

using holdfast::contract::extent;
using holdfast::test::redis_quorum;

// Five servers for all tests of this process. Each test has a prefix of its own, so tests do not share locks.
redis_quorum& plain() {
  static redis_quorum shared;
  return shared;
}
redis_quorum& secure() {
  static redis_quorum shared{{.password = "a-quorum", .tls = true}};
  return shared;
}

class redlock_store final : public holdfast::contract::store {
 public:
  explicit redlock_store(redis_quorum& servers) : servers_{servers} {}

  [[nodiscard]] std::string url() const override {
    // A busy machine keeps servers from their work for longer than the default.
    return servers_.url("?node_timeout=20s&prefix=contract-" + std::to_string(number_) + ':');
  }
  // Connections stay, and what is sent meanwhile is carried out afterwards, whoever still wants it.
  void stop_answering() override {
    for (std::size_t i = 0; i < servers_.size(); ++i) servers_.server(i).stop();
  }
  void answer_again() override {
    for (std::size_t i = 0; i < servers_.size(); ++i) servers_.server(i).go_on();
  }

 private:
  static inline std::atomic<int> started{0};
  redis_quorum& servers_;
  int number_ = ++started;
};

holdfast::contract::store_kind kind(std::string name, std::string scheme, extent in_gate,
                                    redis_quorum& (*servers)()) {
  return {.name = std::move(name),
          .scheme = std::move(scheme),
          .across_processes = true,
          .breakable = true,
          .has_permits = false,
          .by_majority = true,
          .in_gate = in_gate,
          .start = [servers] { return std::make_unique<redlock_store>(servers()); }};
}

const holdfast::contract::test_on redlock{kind("redlock", "redlock", extent::blocking, plain)};
const holdfast::contract::test_on redlocks{kind("redlocks", "redlocks", extent::smoke, secure)};

}  // namespace
