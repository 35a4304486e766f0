#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "core/link.hpp"
#include "core/request.hpp"
#include "simulation/mutant.hpp"

namespace holdfast::sim {

/// What goes from a coordinator to its servers; bent by mutants.
class quorum_seam {
 public:
  using on_reply = tickets::link::on_reply;

  explicit quorum_seam(mutant with) : with_{with} {}

  void pass(tickets::link& to, std::size_t server, tickets::request request, on_reply done);

 private:
  using vote = std::pair<owner_id, std::size_t>;  // of a server

  mutant with_;
  std::map<owner_id, tickets::vote> votes_;  // as they were sent last
  std::shared_ptr<std::set<vote>> granted_ = std::make_shared<std::set<vote>>();
};

}  // namespace holdfast::sim
