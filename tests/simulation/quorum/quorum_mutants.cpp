#include "simulation/quorum/quorum_mutants.hpp"

#include <utility>

namespace holdfast::sim {

void quorum_seam::enter(tickets::request& /*request*/, on_reply& /*done*/) {}

void quorum_seam::pass(tickets::link& to, std::size_t /*server*/, tickets::request request, on_reply done) {
  to.send(std::move(request), std::move(done));
}

void quorum_seam::hear(tickets::link& /*from*/, std::size_t /*server*/, const store::notification& /*n*/) {}

}  // namespace holdfast::sim
