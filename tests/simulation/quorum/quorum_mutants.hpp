#pragma once

#include <cstddef>

#include "core/request.hpp"
#include "simulation/mutant.hpp"

namespace holdfast::sim {

/// What goes between a coordinator, its caller, and its servers; bent by mutants.
class quorum_seam {
 public:
  using on_reply = tickets::link::on_reply;

  explicit quorum_seam(mutant with) : with_{with} {}

  /// Of the caller.
  void enter(tickets::request& request, on_reply& done);
  /// To a server.
  void pass(tickets::link& to, std::size_t server, tickets::request request, on_reply done);
  /// A notification of a server has come.
  void hear(tickets::link& from, std::size_t server, const store::notification& n);

 private:
  mutant with_;
};

}  // namespace holdfast::sim
