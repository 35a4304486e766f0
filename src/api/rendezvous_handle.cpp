#include "holdfast/detail/rendezvous_handle.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <variant>

#include "api/access.hpp"
#include "api/claims.hpp"
#include "base/metadata.hpp"
#include "base/name.hpp"
#include "core/arrivals.hpp"
#include "holdfast/barrier.hpp"
#include "holdfast/error.hpp"
#include "holdfast/latch.hpp"

namespace holdfast::detail {

namespace {

using lease_core::rendezvous;

/// Room for the claims of parties that have died or left, and that end with their ttl.
constexpr std::int64_t permits_a_party = 1000;

std::ptrdiff_t checked_expected(std::ptrdiff_t expected, std::ptrdiff_t most, const std::string& type) {
  if (expected >= 1 && expected <= most) return expected;
  throw error{errc::invalid_argument, type + ": " + std::to_string(expected) +
                                          " are expected; that has to be between 1 and " +
                                          std::to_string(most)};
}

/// A name that rests after a claim would keep a party that has left.
void require_no_rest(const lock_options& options, const std::string& place) {
  if (options.grace() == duration::zero() && options.at_least() == duration::zero()) return;
  throw error{errc::invalid_argument,
              "cannot use " + place +
                  ": it has no grace and no at_least, since a party that has left would go on counting; give "
                  "it options of its own where the client's have them"};
}

/// "2 of 3 have arrived: worker (pid 7 on alpha), worker (pid 9 on beta)"; of many the first ones alone.
std::string text_of(const arrivals& seen) {
  constexpr std::size_t most_shown = 8;
  std::string text = std::to_string(seen.arrived) + " of " + std::to_string(seen.expected) + " have arrived";
  const std::size_t shown = std::min(seen.parties.size(), most_shown);
  for (std::size_t each = 0; each < shown; ++each) {
    const claimant& party = seen.parties[each];
    text += (each == 0 ? ": " : ", ") + party.program + " (pid " + std::to_string(party.pid) + " on " +
            party.host + ')';
  }
  if (seen.parties.size() > shown) text += " and " + std::to_string(seen.parties.size() - shown) + " more";
  return text;
}

/// The part of the state that a call uses which does not block. Not the client, which would keep itself alive
/// by its own operation.
struct presence {
  std::weak_ptr<client_core> locks;
  std::string place;  // the end of errors: "the latch 'ready' on redis://host"
  lease_core::rendezvous_ptr at;

  presence(const std::shared_ptr<client_core>& of, std::string where, lease_core::rendezvous_ptr meeting)
      : locks{of}, place{std::move(where)}, at{std::move(meeting)} {}
  /// After the last call, also of those that do not block. A client that is gone has left by itself.
  ~presence() {
    if (const auto open = locks.lock()) open->leave(at);
  }
  presence(const presence&) = delete;
  presence& operator=(const presence&) = delete;

  [[nodiscard]] std::string text_of_failure(const failure& reason) const {
    return "cannot use " + place + ": " + reason.message;
  }
  [[nodiscard]] std::string text_of_timeout(const arrivals& seen) const {
    return "cannot pass " + place + " within the wait limit: " + text_of(seen);
  }
};

}  // namespace

struct rendezvous_handle::state {
  std::shared_ptr<client_core> locks;
  type kind = type::latch;
  std::string name;
  std::ptrdiff_t expected = 1;
  lock_options options;
  std::shared_ptr<const presence> present;  // destroyed before the client

  state(type kind, client& of, std::string_view name, std::ptrdiff_t expected,
        const std::optional<lock_options>& own);
  /// \throws holdfast::error errc::closed, errc::invalid_argument.
  void require_possible(const rendezvous_request& request) const {
    locks->require_open();
    if (request.count >= 0 && request.count <= expected && (request.count > 0 || request.waits)) return;
    throw error{errc::invalid_argument, "cannot count down " + present->place + " by " +
                                            std::to_string(request.count) +
                                            ": that has to be between 1 and " + std::to_string(expected)};
  }
};

rendezvous_handle::state::state(type kind, client& of, std::string_view name, std::ptrdiff_t expected,
                                const std::optional<lock_options>& own)
    : locks{client_access::core_of(of)}, kind{kind}, name{lock_name{name}.str()} {
  const bool is_latch = kind == type::latch;
  const std::string word = is_latch ? "latch" : "barrier";
  this->expected = checked_expected(expected, is_latch ? latch::max() : barrier::max(), word);
  options = own.value_or(locks->options().locks());
  const auto place = "the " + word + " '" + this->name + "' on " + locks->url();
  require_no_rest(options, place);
  const auto at = std::make_shared<rendezvous>();
  present = std::make_shared<const presence>(locks, place, at);
  at->kind = is_latch ? rendezvous::type::latch : rendezvous::type::barrier;
  at->expected = expected;
  const std::int64_t capacity = is_latch ? expected : expected * permits_a_party;
  at->terms =
      wish_of({.name = this->name, .mode = mode::permits, .capacity = capacity}, options, nullptr, true);
  if (!is_latch) at->terms.renews = true;
  at->self = process_for(*locks, options);
}

rendezvous_handle::rendezvous_handle(type kind, client& locks, std::string_view name, std::ptrdiff_t expected,
                                     const std::optional<lock_options>& options)
    : state_{std::make_shared<const state>(kind, locks, name, expected, options)} {}

rendezvous_handle::~rendezvous_handle() = default;

std::optional<std::uint64_t> rendezvous_handle::meet(const rendezvous_request& request) const {
  const state& s = *state_;
  s.require_possible(request);
  if (request.stop.stop_requested()) return std::nullopt;
  const auto limit = request.limit ? request.limit : s.options.wait_limit();
  const auto result =
      s.locks->meet(s.present->at, {request.count, request.waits, std::nullopt}, limit, request.stop);
  if (const auto* const failed = std::get_if<failure>(&result)) {
    if (failed->code == errc::cancelled && request.stop.stop_requested()) return std::nullopt;
    throw error{failed->code, s.present->text_of_failure(*failed)};
  }
  const auto& seen = std::get<arrivals>(result);
  if (seen.is_complete() || !request.waits) return seen.phase;
  if (!request.limit) throw error{errc::timeout, s.present->text_of_timeout(seen)};
  return std::nullopt;
}

pending rendezvous_handle::async_meet(const rendezvous_request& request,
                                      std::unique_ptr<completion> handler) const {
  const std::shared_ptr<completion> shared{std::move(handler)};
  const state& s = *state_;
  try {
    s.require_possible(request);
  } catch (const error& reason) {
    return complete_with(reason, shared);
  }
  const auto limit = request.limit ? request.limit : s.options.wait_limit();
  pending p;
  p.owner = s.locks;
  p.id = s.locks->start_meet(s.present->at, {request.count, request.waits, std::nullopt}, limit,
                             [shared, self = s.present, waits = request.waits,
                              may_be_empty = request.limit.has_value()](const lease_core::arrived& result) {
                               if (const auto* const failed = std::get_if<failure>(&result)) {
                                 return shared->complete({failed->code, self->text_of_failure(*failed), {}});
                               }
                               const auto& seen = std::get<arrivals>(result);
                               outcome ended;
                               if (seen.is_complete() || !waits) {
                                 ended.number = seen.phase;
                               } else if (!may_be_empty) {
                                 ended.code = errc::timeout;
                                 ended.detail = self->text_of_timeout(seen);
                               }
                               shared->complete(std::move(ended));
                             });
  return p;
}

arrivals rendezvous_handle::inspect() const {
  const state& s = *state_;
  auto answer = s.locks->inspect(s.name, 0);
  if (const auto* const reason = std::get_if<failure>(&answer)) {
    throw error{reason->code, "cannot read " + s.present->place + ": " + reason->message};
  }
  const auto& seen = std::get<std::optional<lock_state>>(answer);
  if (s.kind == type::latch) return store::counted_in(seen, s.expected);
  const store::barrier_view view{seen, s.expected};
  return view.at(view.phase_to_join());
}

const std::string& rendezvous_handle::name() const noexcept { return state_->name; }
std::ptrdiff_t rendezvous_handle::expected() const noexcept { return state_->expected; }

}  // namespace holdfast::detail
