#include "simulation/quorum/quorum_mutants.hpp"

#include <variant>

#include "support/request_form.hpp"

namespace holdfast::sim {

using tickets::request;

namespace {

tickets::place* place_in(tickets::link::outcome& o) {
  auto* const reply = std::get_if<tickets::reply>(&o);
  return reply == nullptr ? nullptr : std::get_if<tickets::place>(reply);
}

}  // namespace

void quorum_seam::pass(tickets::link& to, std::size_t server, request r, on_reply done) {
  const test::request_form form = test::form_of(r);
  auto* const claim = std::get_if<tickets::vote>(&r);
  if (claim != nullptr) votes_[form.owner] = *claim;
  // In place of a yield the server is asked for what it has granted already.
  const bool keeps = with_ == mutant::never_yields && std::holds_alternative<tickets::yield>(r);
  if (keeps) {
    tickets::vote again = votes_.at(form.owner);
    again.wait = true;
    r = std::move(again);
  }
  const bool is_claim = claim != nullptr || keeps;
  if (with_ == mutant::never_yields && is_claim) {
    done = [done = std::move(done)](tickets::link::outcome o) {
      if (auto* const at = place_in(o); at != nullptr && at->vote) at->vote->is_overtaken = false;
      done(std::move(o));
    };
  }
  if (with_ == mutant::answers_as_grants && is_claim) {
    done = [done = std::move(done), number = form.token](tickets::link::outcome o) {
      if (auto* const at = place_in(o); at != nullptr && at->vote && !at->granted) {
        at->granted = true;
        at->vote->accepted = number;
      }
      done(std::move(o));
    };
  }
  if (with_ == mutant::release_to_granters) {
    const vote one{form.owner, server};
    if (is_release(r) &&
        !granted_->contains(one)) {  // the server is asked for nothing, and the answer made up
      r = tickets::inspect{form.name};
      done = [done = std::move(done)](tickets::link::outcome o) {
        const bool answered = std::holds_alternative<tickets::reply>(o);
        done(answered ? tickets::link::outcome{tickets::reply{tickets::nothing{}}} : std::move(o));
      };
    } else if (is_claim || std::holds_alternative<tickets::yield>(r) ||
               std::holds_alternative<tickets::accept>(r)) {
      done = [done = std::move(done), one, granted = granted_](tickets::link::outcome o) {
        if (const auto* const at = place_in(o); at != nullptr && at->granted) granted->insert(one);
        done(std::move(o));
      };
    }
  }
  to.send(std::move(r), std::move(done));
}

}  // namespace holdfast::sim
