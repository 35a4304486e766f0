// SPDX-License-Identifier: Apache-2.0
#include "holdfast/detail/election_handle.hpp"

#include <limits>
#include <string>
#include <utility>

#include "api/access.hpp"
#include "api/claims.hpp"
#include "api/ends.hpp"
#include "api/start.hpp"
#include "base/name.hpp"
#include "core/leader_tracker.hpp"
#include "holdfast/election.hpp"
#include "holdfast/error.hpp"

namespace holdfast::detail {

namespace {

constexpr std::size_t all_waiters = std::numeric_limits<std::size_t>::max();

void check_value(std::string_view value) {
  if (value.size() <= election::longest_value) return;
  throw error{errc::invalid_argument, "election: the value has " + std::to_string(value.size()) +
                                          " bytes, and " + std::to_string(election::longest_value) +
                                          " are allowed"};
}

}  // namespace

struct election_handle::state {
  std::shared_ptr<client_core> locks;
  store::claim pattern;  // of each candidate's claim, but for its value
  std::string place;     // the end of errors: "'scheduler' on redis://host"
  lock_options options;

  /// \throws holdfast::error errc::invalid_argument.
  [[nodiscard]] store::claim_ptr claim_for(std::string_view value, bool waits) const {
    check_value(value);
    if (options.at_least() != duration::zero()) {
      throw error{errc::invalid_argument, "cannot lead '" + pattern.name +
                                              "': an election has no at_least, since a leader that has "
                                              "resigned would be shown as the leader"};
    }
    auto wanted = std::make_shared<store::claim>(pattern);
    wanted->metadata = metadata_for(*locks, options, std::string{value});
    return claim_of(std::move(wanted), waits);
  }
  [[nodiscard]] std::string attempt_to_lead() const { return "cannot lead " + place; }
  [[nodiscard]] std::string attempt_to_read() const { return "cannot read the election " + place; }
  /// The question of who takes part, for client_core::wait and start.
  [[nodiscard]] auto look(std::size_t most_waiters) const {
    return [this, most_waiters](const client_core::engine& with, store::handler<store::inspected> done) {
      with.store.inspect(pattern.name, most_waiters, with.give_up(), std::move(done));
    };
  }
  [[nodiscard]] std::optional<lock_state> read(std::size_t most_waiters) const {
    locks->require_open();
    return value_of(locks->wait<store::inspected>(look(most_waiters)), attempt_to_read());
  }
};

election_handle::election_handle(client& locks, std::string_view name,
                                 const std::optional<lock_options>& options) {
  auto s = std::make_shared<state>();
  s->locks = client_access::core_of(locks);
  s->options = options.value_or(s->locks->options().locks());
  s->pattern = with_options({.name = lock_name{name}.str(), .election = true}, s->options, nullptr);
  s->place = "'" + s->pattern.name + "' on " + s->locks->url();
  state_ = std::move(s);
}

election_handle::~election_handle() = default;

std::optional<term> election_handle::campaign(std::string_view value, std::optional<duration> limit,
                                              const std::stop_token& stop) {
  const state& s = *state_;
  s.locks->require_open();
  const acquiring call{limit, s.options, stop};
  const auto claim = s.claim_for(value, call.waits());
  if (stop.stop_requested()) return std::nullopt;
  auto record = acquired(s.locks->wait<lease_core::taken>(acquisition_of(claim, call), stop), call,
                         s.attempt_to_lead());
  if (!record) return std::nullopt;
  return term_access::make(lease_access::make(std::move(*record)), std::string{value}, claim->metadata);
}

pending election_handle::async_campaign(std::string_view value, std::optional<duration> limit,
                                        std::unique_ptr<completion> handler) {
  return start_or_complete(std::move(handler), [&](const std::shared_ptr<completion>& shared) {
    const state& s = *state_;
    s.locks->require_open();
    const acquiring call{limit, s.options};
    const auto claim = s.claim_for(value, call.waits());
    return s.locks->start<lease_core::taken>(
        acquisition_of(claim, call),
        completing<lease_core::lease_record_ptr>(
            shared, s.attempt_to_lead(),
            [value = std::string{value}, metadata = claim->metadata](lease_core::lease_record_ptr record) {
              return outcome{{},
                             {},
                             lease_access::make(std::move(record)),
                             {},
                             std::make_shared<election_outcome>(election_outcome{value, metadata, {}})};
            },
            call.may_be_empty),
        shared->is_internal());
  });
}

std::optional<candidate> election_handle::leader() const { return store::leader_in(state_->read(0)); }

std::vector<candidate> election_handle::participants() const {
  return store::candidates_in(state_->read(all_waiters));
}

pending election_handle::async_participants(bool with_standbys, std::unique_ptr<completion> handler) const {
  return start_or_complete(std::move(handler), [&](const std::shared_ptr<completion>& shared) {
    const state& s = *state_;
    s.locks->require_open();
    return s.locks->start<store::inspected>(
        s.look(with_standbys ? all_waiters : 0),
        completing<std::optional<lock_state>>(
            shared, s.attempt_to_read(), [with_standbys](const std::optional<lock_state>& seen) {
              auto all = store::candidates_in(seen);
              if (!with_standbys) std::erase_if(all, [](const candidate& each) { return !each.leads; });
              return outcome{{},
                             {},
                             {},
                             {},
                             std::make_shared<election_outcome>(election_outcome{{}, {}, std::move(all)})};
            }));
  });
}

std::shared_ptr<void> election_handle::observe(std::function<void(const observation&)> changed) const {
  if (!changed) throw error{errc::invalid_argument, "election::observe: the function is empty"};
  return state_->locks->observe(state_->pattern.name, std::move(changed));
}

const std::string& election_handle::name() const noexcept { return state_->pattern.name; }

}  // namespace holdfast::detail
