#pragma once

#include "core/twins.hpp"
#include "database/caller.hpp"

namespace holdfast::test {

/// The model and a real database server. The server has one clock, which is never set back: what that does is
/// told in docs/guarantees.md, and the same on all stores.
class server_twins final : public twins {
 public:
  /// \param real must outlive this.
  explicit server_twins(caller& real);

  void step_wall(duration by) override {
    if (by > duration::zero()) pass(by);
  }
  bool forget(duration unused_for) override;

 private:
  [[nodiscard]] answer ask_real(const tickets::request& asked, const owner_id& client) override;
  [[nodiscard]] answer answer_of_real(const tickets::request& asked, const owner_id& client);
  void set_clock();

  caller& real_;
};

}  // namespace holdfast::test
