// SPDX-License-Identifier: Apache-2.0
// A client asks for the release of the holds of others.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/access.hpp"
#include "api/ends.hpp"
#include "api/start.hpp"
#include "base/name.hpp"

namespace holdfast {

namespace detail {

namespace {

/// A request to release, its arguments checked.
struct release_question {
  std::string name;
  std::optional<fencing_token> token;
  std::string reason;
  std::string attempt;

  /// \throws holdfast::error errc::invalid_argument.
  release_question(const client_core& core, std::string_view of, std::optional<fencing_token> of_hold,
                   std::string_view text)
      : name{lock_name{of}.str()},
        token{of_hold},
        attempt{"cannot ask the holders of '" + name + "' on " + core.url()} {
    if (token && !*token)
      throw error{errc::invalid_argument, "a request to release: the fencing token is zero"};
    if (const auto problem = problem_of_text(text, client::longest_reason)) {
      throw error{errc::invalid_argument, "the reason of a request to release is not allowed: " + *problem};
    }
    reason = text;
  }

  void operator()(const client_core::engine& with, store::handler<store::notified> done) const {
    with.store.request_release(name, token, reason, with.give_up(), std::move(done));
  }
};

std::size_t ask(const client& locks, std::string_view name, std::optional<fencing_token> token,
                std::string_view reason) {
  const auto& core = client_access::core_of(locks);
  const release_question question{*core, name, token, reason};
  core->require_open();
  return value_of(core->wait<store::notified>(question), question.attempt);
}

}  // namespace

pending async_request_release(const client& locks, std::string_view name, std::optional<fencing_token> token,
                              std::string_view reason, std::unique_ptr<completion> handler) {
  return start_or_complete(std::move(handler), [&](const std::shared_ptr<completion>& shared) {
    const auto& core = client_access::core_of(locks);
    const release_question question{*core, name, token, reason};
    core->require_open();
    return core->start<store::notified>(
        question, completing<std::size_t>(shared, question.attempt, [](std::size_t asked_holders) {
          outcome ended{{}, {}, {}};
          ended.count = asked_holders;
          return ended;
        }));
  });
}

}  // namespace detail

std::size_t client::request_release(std::string_view name, std::string_view reason) const {
  return detail::ask(*this, name, std::nullopt, reason);
}

bool client::request_release(std::string_view name, fencing_token token, std::string_view reason) const {
  return detail::ask(*this, name, token, reason) != 0;
}

}  // namespace holdfast
