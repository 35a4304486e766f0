// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/model_comparison.hpp"
#include "routines/routine_caller.hpp"

namespace holdfast::test {

/// The model and a real database server. The server has one clock, which is never set back: what that does is
/// told in docs/guarantees.md, and the same on all stores.
class server_comparison final : public model_comparison {
 public:
  /// \param real must outlive this.
  explicit server_comparison(routine_caller& real);

  void step_wall(duration by) override {
    if (by > duration::zero()) pass(by);
  }
  [[nodiscard]] bool joins() const override { return real_.joins(); }
  bool forget(duration unused_for) override;

 private:
  [[nodiscard]] answer ask_real(const tickets::request& request, const owner_id& client) override;
  [[nodiscard]] answer answer_of_real(const tickets::request& request, const owner_id& client);
  void set_clock();

  routine_caller& real_;
};

}  // namespace holdfast::test
