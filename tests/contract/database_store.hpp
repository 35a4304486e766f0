// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "contract/stores.hpp"

namespace holdfast::contract {

/// A store in a database of a `Server`, see tests/support. One server does for all tests of the process:
/// they do not see one another, because each has a table of its own.
template <class Server>
class database_store final : public store {
 public:
  /// A store URL on that server, with these options, as in "table=x&create=0".
  using place = std::string (*)(const Server&, const std::string& options);
  explicit database_store(place where) : where_{where} {}

  [[nodiscard]] std::string url() const override {
    return where_(server(), "table=contract_" + std::to_string(number_));
  }
  // Connections stay, and what is sent meanwhile is carried out afterwards, whoever still wants it.
  void stop_answering() override { server().stop(); }
  void answer_again() override { server().go_on(); }

  static store_kind kind(std::string name, std::string scheme, extent in_gate, place where,
                         bool keeps_sessions = false) {
    return {.name = std::move(name),
            .scheme = std::move(scheme),
            .across_processes = true,
            .breakable = true,
            .keeps_sessions = keeps_sessions,
            .in_gate = in_gate,
            .start = [where] { return std::make_unique<database_store>(where); }};
  }

 private:
  static Server& server() {
    static Server shared;
    return shared;
  }

  static inline std::atomic<int> started{0};
  place where_;
  int number_ = ++started;
};

}  // namespace holdfast::contract
