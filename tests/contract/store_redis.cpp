#include <atomic>

#include "contract/stores.hpp"
#include "support/redis_server.hpp"

namespace {

using holdfast::test::redis_server;

// One server for all tests of this process: they do not see one another, because each has names of its own.
redis_server& server() {
  static redis_server shared{{.tls = true}};
  return shared;
}

class redis_store final : public holdfast::contract::store {
 public:
  using place = std::string (*)(redis_server&, const std::string& prefix);
  explicit redis_store(place where) : where_{where} {}

  [[nodiscard]] std::string url() const override {
    return where_(server(), "contract-" + std::to_string(number_) + ':');
  }
  // Connections stay, and what is sent meanwhile is carried out afterwards, whoever still wants it.
  void stop_answering() override { server().stop(); }
  void answer_again() override { server().go_on(); }

 private:
  static inline std::atomic<int> started{0};
  place where_;
  int number_ = ++started;
};

holdfast::contract::store_kind kind(std::string name, std::string scheme, redis_store::place where) {
  return {.name = std::move(name),
          .scheme = std::move(scheme),
          .across_processes = true,
          .breakable = true,
          .start = [where] { return std::make_unique<redis_store>(where); }};
}

const holdfast::contract::test_on redis{
    kind("redis", "redis",
         [](redis_server& at, const std::string& prefix) { return at.url("?prefix=" + prefix); })};
const holdfast::contract::test_on rediss{
    kind("rediss", "rediss",
         [](redis_server& at, const std::string& prefix) { return at.tls_url("?prefix=" + prefix); })};
const holdfast::contract::test_on unix_socket{kind(
    "unix", "unix",
    [](redis_server& at, const std::string& prefix) { return "unix:" + at.socket() + "?prefix=" + prefix; })};

}  // namespace

#if defined(__SANITIZE_ADDRESS__)
// A client whose last user lets go in a callback is taken apart by a thread of its own, which the end of the
// process may overtake. What OpenSSL keeps for that thread is then lost with it: its cleaner has gone before.
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions() {
  return "leak:CRYPTO_zalloc\n";
}
#endif
