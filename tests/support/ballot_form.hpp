// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <variant>

#include "stores/quorum/protocol/ballots.hpp"
#include "support/request_form.hpp"

namespace holdfast::test {

[[nodiscard]] inline task task_of(const ballots::request& r) {
  const auto* const plain = std::get_if<tickets::request>(&r);
  const std::size_t before = std::variant_size_v<tickets::request> - 1;
  return plain != nullptr ? task_of(*plain) : static_cast<task>(before + r.index());
}

/// The request to one of several servers, of any kind.
[[nodiscard]] inline ballots::request ballot_of(const request_form& f) {
  switch (f.kind) {
    case task::vote: return ballots::vote{f.claim(), f.token, f.wait};
    case task::yield: return ballots::yield{f.hold(), f.grant};
    case task::accept: return ballots::accept{f.hold()};
    case task::retract: return ballots::retract{f.hold(), f.last, f.met_foreign};
    case task::end_hold: return ballots::end_hold{f.name, f.owner, f.last};
    case task::ask_owner: return ballots::ask_owner{f.name, f.owner, f.reason()};
    default: return f.request();
  }
}

[[nodiscard]] inline request_form form_of(const ballots::request& r) {
  if (const auto* const plain = std::get_if<tickets::request>(&r)) return form_of(*plain);
  request_form f;
  f.kind = task_of(r);
  std::visit([&](const auto& of) { f.take(of); }, r);
  return f;
}

}  // namespace holdfast::test
