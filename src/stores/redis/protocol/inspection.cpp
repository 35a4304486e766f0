#include "stores/redis/protocol/inspection.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "stores/redis/protocol/resp.hpp"
#include "stores/redis/protocol/script_call.hpp"

namespace holdfast::redis {

namespace {

constexpr std::size_t no_limit = std::numeric_limits<std::int32_t>::max();

void append_cursor(std::string& out, const claim_cursor& from, std::size_t wanted) {
  append_bulk_string(out, from.is_end() ? "0" : from.score);
  append_number(out, from.passed);
  append_number(out, static_cast<std::int64_t>(from.is_end() ? 0 : wanted));
}

/// A server that stays where it is would be asked for ever.
void advance(claim_cursor& from, claim_cursor next) {
  const bool stays = !from.is_end() && next.score == from.score && next.passed <= from.passed;
  // One that was at its end was not asked for anything.
  if (stays || (from.is_end() && !next.is_end())) throw misunderstood{};
  from = std::move(next);
}

void append_claims(std::vector<claim_state>& to, std::vector<claim_state>& some) {
  std::move(some.begin(), some.end(), std::back_inserter(to));
}

}  // namespace

inspection::inspection(std::size_t most_waiters) : waiters_wanted_{std::min(most_waiters, no_limit)} {
  if (waiters_wanted_ == 0) next_waiter_.score.clear();
}

void inspection::append_arguments(std::string& out) const {
  append_cursor(out, next_holder_, no_limit);
  append_cursor(out, next_waiter_, waiters_wanted_);
}

void inspection::append_arguments_of_summary(std::string& out) {
  append_cursor(out, {}, 1);
  append_cursor(out, {}, 1);
}

bool inspection::hear(const std::string& name, const value& reply) {
  inspected_part part = part_of(name, reply);
  if (part.next_holder.is_end()) advance(next_waiter_, std::move(part.next_waiter));
  advance(next_holder_, std::move(part.next_holder));
  if (part.state) waiters_wanted_ -= std::min(waiters_wanted_, part.state->waiters.size());
  if (!begun_at_) {
    begun_at_ = part.now;
    state_ = std::move(part.state);
  } else if (part.state && state_) {
    // A hold that was granted since is none of those at the time of the call.
    const duration since = part.now - *begun_at_;
    part.state->holders.erase(part.state->holders.begin(), part.state->holders.begin() + part.alone);
    std::erase_if(part.state->holders, [since](const claim_state& each) { return each.age < since; });
    append_claims(state_->holders, part.state->holders);
    append_claims(state_->waiters, part.state->waiters);
    if (part.state->capacity != 0) state_->capacity = part.state->capacity;
  }
  return next_holder_.is_end() && next_waiter_.is_end();
}

}  // namespace holdfast::redis
