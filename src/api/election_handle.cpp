#include "holdfast/detail/election_handle.hpp"

#include <limits>
#include <string>
#include <utility>
#include <variant>

#include "api/access.hpp"
#include "api/claims.hpp"
#include "base/name.hpp"
#include "core/candidates.hpp"
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

std::string text_of(const failure& reason, const std::string& place) {
  return "cannot lead " + place + ": " + reason.message;
}

std::string text_of_timeout(const std::string& place) {
  return "cannot lead " + place + ": others led for the whole wait limit";
}

}  // namespace

struct election_handle::state {
  std::shared_ptr<client_core> locks;
  std::string name;
  std::string place;  // the end of errors: "'scheduler' on redis://host"
  lock_options options;

  [[nodiscard]] std::optional<duration> limit_or_default(std::optional<duration> limit) const {
    return limit ? limit : options.wait_limit();
  }
  /// \throws holdfast::error errc::invalid_argument.
  [[nodiscard]] lease_core::wish wish_for(std::string_view value, bool waits) const {
    check_value(value);
    return wish_of({.name = name, .election = true}, options,
                   metadata_for(*locks, options, std::string{value}), waits);
  }
  [[nodiscard]] std::optional<lock_state> look(std::size_t most_waiters) const {
    auto answer = locks->inspect(name, most_waiters);
    if (const auto* reason = std::get_if<failure>(&answer)) {
      throw error{reason->code, "cannot read the election " + place + ": " + reason->message};
    }
    return std::get<std::optional<lock_state>>(std::move(answer));
  }
};

election_handle::election_handle(client& locks, std::string_view name,
                                 const std::optional<lock_options>& options) {
  auto s = std::make_shared<state>();
  s->locks = client_access::core_of(locks);
  s->name = lock_name{name}.str();
  s->options = options.value_or(s->locks->options().locks());
  s->place = "'" + s->name + "' on " + s->locks->url();
  state_ = std::move(s);
}

election_handle::~election_handle() = default;

std::optional<term> election_handle::campaign(std::string_view value, std::optional<duration> limit,
                                              const std::stop_token& stop) {
  const state& s = *state_;
  s.locks->require_open();
  const auto longest = s.limit_or_default(limit);
  auto wish = s.wish_for(value, longest != duration::zero());
  if (stop.stop_requested()) return std::nullopt;
  const auto metadata = wish.claim.metadata;
  std::string own_value{value};  // before the claim: there may be no memory for it
  const auto result = s.locks->acquire(std::move(wish), longest, stop);
  if (const auto* record = std::get_if<lease_core::lease_record_ptr>(&result)) {
    set_client(**record, s.locks);
    return term_access::make(lease_access::make(*record), std::move(own_value), metadata);
  }
  if (const auto* failed = std::get_if<failure>(&result)) {
    if (failed->code == errc::cancelled && stop.stop_requested()) return std::nullopt;
    throw error{failed->code, text_of(*failed, s.place)};
  }
  if (!limit) throw error{errc::timeout, text_of_timeout(s.place)};
  return std::nullopt;
}

pending election_handle::async_campaign(std::string_view value, std::optional<duration> limit,
                                        std::unique_ptr<completion> handler) {
  const std::shared_ptr<completion> shared{std::move(handler)};
  const state& s = *state_;
  const auto longest = s.limit_or_default(limit);
  lease_core::wish wish;
  try {
    s.locks->require_open();
    wish = s.wish_for(value, longest != duration::zero());
  } catch (const error& reason) {
    return complete_with(reason, shared);
  }
  // Before the claim: there may be no memory for it when it is elected.
  auto elected =
      std::make_shared<election_outcome>(election_outcome{std::string{value}, wish.claim.metadata, {}});
  // Not the state, and the client in it: the client would keep itself alive by its own operation.
  pending p;
  p.owner = s.locks;
  p.id = s.locks->start_acquire(
      std::move(wish), longest,
      [shared, weak = std::weak_ptr{s.locks}, place = s.place, elected = std::move(elected),
       may_be_empty = limit.has_value()](const lease_core::taken& result) {
        if (const auto* record = std::get_if<lease_core::lease_record_ptr>(&result)) {
          set_client(**record, weak);
          shared->complete({{}, {}, lease_access::make(*record), {}, elected});
        } else if (const auto* failed = std::get_if<failure>(&result)) {
          shared->complete({failed->code, text_of(*failed, place), {}});
        } else if (may_be_empty) {
          shared->complete({});
        } else {
          shared->complete({errc::timeout, text_of_timeout(place), {}});
        }
      });
  return p;
}

std::optional<candidate> election_handle::leader() const { return leader_in(state_->look(0)); }

std::vector<candidate> election_handle::participants() const {
  return candidates_in(state_->look(all_waiters));
}

pending election_handle::async_participants(bool with_standbys, std::unique_ptr<completion> handler) const {
  const std::shared_ptr<completion> shared{std::move(handler)};
  const state& s = *state_;
  try {
    s.locks->require_open();
  } catch (const error& reason) {
    return complete_with(reason, shared);
  }
  pending p;
  p.owner = s.locks;
  p.id = s.locks->start_inspect(
      s.name, with_standbys ? all_waiters : 0,
      [shared, place = s.place, with_standbys](const store::inspected& answer) {
        if (const auto* reason = std::get_if<failure>(&answer)) {
          return shared->complete(
              {reason->code, "cannot read the election " + place + ": " + reason->message, {}});
        }
        auto all = candidates_in(std::get<std::optional<lock_state>>(answer));
        if (!with_standbys) std::erase_if(all, [](const candidate& each) { return !each.leads; });
        shared->complete(
            {{}, {}, {}, {}, std::make_shared<election_outcome>(election_outcome{{}, {}, std::move(all)})});
      });
  return p;
}

std::shared_ptr<void> election_handle::observe(std::function<void(const observation&)> changed) const {
  if (!changed) throw error{errc::invalid_argument, "election::observe: the function is empty"};
  return state_->locks->observe(state_->name, std::move(changed));
}

const std::string& election_handle::name() const noexcept { return state_->name; }

}  // namespace holdfast::detail
