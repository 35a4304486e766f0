// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "contract/stores.hpp"
#include "support/zookeeper_ensemble.hpp"

namespace {

using holdfast::contract::extent;
using holdfast::test::zookeeper_server;

// One server for all tests of this process: they do not see one another, because each has a root of its own.
zookeeper_server& server() {
  static zookeeper_server shared{{.container_check = std::chrono::minutes{5}}};
  return shared;
}

class zookeeper_store final : public holdfast::contract::store {
 public:
  explicit zookeeper_store(std::string layout) : layout_{std::move(layout)} {}

  [[nodiscard]] std::string url() const override { return url_with("session_timeout=20s"); }
  [[nodiscard]] std::string url_of_brief_sessions() const override { return url_with("session_timeout=2s"); }
  // Connections stay, and what is sent meanwhile is carried out afterwards, whoever still wants it.
  void stop_answering() override { server().stop(); }
  void answer_again() override { server().go_on(); }

 private:
  [[nodiscard]] std::string url_with(const std::string& option) const {
    return server().url("/contract/" + std::to_string(number_) + "?layout=" + layout_ + '&' + option);
  }

  static inline std::atomic<int> started{0};
  std::string layout_;
  int number_ = ++started;
};

holdfast::contract::store_kind kind(std::string name, extent in_gate, const std::string& layout) {
  return {.name = std::move(name),
          .scheme = "zk",
          .across_processes = true,
          .breakable = true,
          .keeps_sessions = true,
          .in_gate = in_gate,
          .start = [layout] { return std::make_unique<zookeeper_store>(layout); }};
}

// Three servers, whichever of which a client comes to. What standing still does to them is for tests/faults:
// they elect. Here a loaded machine alone may make one late, and they wait for it rather: 100 ticks.
class ensemble_store final : public holdfast::contract::store {
 public:
  [[nodiscard]] std::string url() const override { return url_with("session_timeout=20s"); }
  [[nodiscard]] std::string url_of_brief_sessions() const override { return url_with("session_timeout=2s"); }

 private:
  [[nodiscard]] std::string url_with(const std::string& option) const {
    static const holdfast::test::zookeeper_ensemble shared{
        {.container_check = std::chrono::minutes{5}, .lines = {"syncLimit=100"}}};
    return shared.url("/contract/" + std::to_string(number_) + "?connect_timeout=50s&" + option);
  }

  static inline std::atomic<int> started{0};
  int number_ = ++started;
};

const holdfast::contract::test_on ensemble{{.name = "ensemble",
                                            .scheme = "zk",
                                            .across_processes = true,
                                            .keeps_sessions = true,
                                            .in_gate = extent::smoke,
                                            .start = [] { return std::make_unique<ensemble_store>(); }}};
const holdfast::contract::test_on curator{kind("zookeeper", extent::blocking, "curator")};
const holdfast::contract::test_on kazoo{kind("kazoo", extent::chosen, "kazoo")};

}  // namespace
