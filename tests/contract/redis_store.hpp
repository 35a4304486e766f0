// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "contract/stores.hpp"
#include "support/redis_server.hpp"

namespace holdfast::contract {

/// A prefix on servers of Redis that all tests of the process share: they do not see one another.
template <class Servers>
class redis_store final : public store {
 public:
  struct place {
    Servers& (*servers)();
    std::string (*url)(Servers&, const std::string& prefix);
    std::vector<test::redis_server*> (*stoppable)(Servers&);  ///< without these it does not answer
  };

  explicit redis_store(place of) : of_{of} {}
  /// \param is its name, its scheme, and what differs from other kinds on Redis.
  static store_kind kind(store_kind is, place of) {
    is.across_processes = is.breakable = true;
    is.start = [of] { return std::make_unique<redis_store>(of); };
    return is;
  }

  [[nodiscard]] std::string url() const override {
    return of_.url(of_.servers(), "prefix=contract-" + std::to_string(number_) + ':');
  }
  // Connections stay, and what is sent meanwhile is carried out afterwards, whoever still wants it.
  void stop_answering() override {
    stopped_ = of_.stoppable(of_.servers());
    for (test::redis_server* each : stopped_) each->stop();
  }
  void answer_again() override {
    for (test::redis_server* each : std::exchange(stopped_, {})) each->go_on();
  }

 private:
  static inline std::atomic<int> started{0};
  place of_;
  int number_ = ++started;
  std::vector<test::redis_server*> stopped_;
};

}  // namespace holdfast::contract
