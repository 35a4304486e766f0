// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <vector>

#include "core/samples.hpp"
#include "stores/memory/link/table.hpp"

namespace holdfast::test {

/// The model and a real store, given the same requests at the same times.
class model_comparison {
 public:
  struct answer {
    tickets::reply reply;
    std::vector<store::client_notification> notifications;
  };
  struct pair {
    answer model;
    answer real;
  };

  model_comparison() = default;
  model_comparison(const model_comparison&) = delete;
  model_comparison& operator=(const model_comparison&) = delete;
  virtual ~model_comparison() = default;

  [[nodiscard]] pair carry_out(const tickets::request& request, const owner_id& client);

  /// Whether the real store takes joint requests.
  [[nodiscard]] virtual bool joins() const { return false; }
  virtual void pass(duration time);
  /// Somebody sets the wall clock, which tokens are drawn from.
  virtual void step_wall(duration by) { wall_ += by; }
  /// Has the real one forget names that nobody has used for so long. The model never does.
  /// \return false where it cannot be told to.
  virtual bool forget(duration /*unused_for*/) { return false; }
  [[nodiscard]] store::time_point now() const { return now_; }

 protected:
  [[nodiscard]] virtual answer ask_real(const tickets::request& request, const owner_id& client) = 0;

  store::time_point now_{std::chrono::hours{1}};
  std::chrono::system_clock::time_point wall_{std::chrono::hours{24 * 365 * 50}};

 private:
  memory::table model_;
};

}  // namespace holdfast::test
