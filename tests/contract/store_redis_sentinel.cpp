#include <atomic>

#include "contract/stores.hpp"
#include "support/sentinel_group.hpp"

namespace {

using holdfast::test::sentinel_group;

// One group for all tests of this process: they do not see one another, because each has a prefix of its own.
// A server that stands still is not down for the Sentinels: failovers are for tests/faults.
sentinel_group& plain() {
  static sentinel_group shared{{.down_after = std::chrono::minutes{10}}};
  return shared;
}
sentinel_group& secure() {
  static sentinel_group shared{
      {.down_after = std::chrono::minutes{10}, .sentinel_password = "a-sentinel", .tls = true}};
  return shared;
}

class redis_sentinel_store final : public holdfast::contract::store {
 public:
  explicit redis_sentinel_store(sentinel_group& group) : group_{group} {}

  [[nodiscard]] std::string url() const override {
    return group_.url("?prefix=contract-" + std::to_string(number_) + ':');
  }
  // Connections stay, and what is sent meanwhile is carried out afterwards, whoever still wants it.
  void stop_answering() override { group_.server(0).stop(); }
  void answer_again() override { group_.server(0).go_on(); }

 private:
  static inline std::atomic<int> started{0};
  sentinel_group& group_;
  int number_ = ++started;
};

holdfast::contract::store_kind kind(std::string name, std::string scheme, sentinel_group& (*group)()) {
  return {.name = std::move(name),
          .scheme = std::move(scheme),
          .across_processes = true,
          .breakable = true,
          .in_gate =
              holdfast::contract::extent::smoke,  // its link is that of Redis, once it has found the primary
          .start = [group] { return std::make_unique<redis_sentinel_store>(group()); }};
}

const holdfast::contract::test_on sentinel{kind("sentinel", "redis+sentinel", plain)};
const holdfast::contract::test_on secure_sentinel{kind("sentineltls", "rediss+sentinel", secure)};

}  // namespace
