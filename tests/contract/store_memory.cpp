// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "contract/stores.hpp"

namespace {

class memory_store final : public holdfast::contract::store {
 public:
  [[nodiscard]] std::string url() const override { return "memory:contract-" + std::to_string(number_); }

 private:
  static inline std::atomic<int> started{0};
  int number_ = ++started;  // names are for the whole process, and each test wants an empty store
};

const holdfast::contract::test_on memory{
    {.name = "memory", .scheme = "memory", .start = [] { return std::make_unique<memory_store>(); }}};

}  // namespace
