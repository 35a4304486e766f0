// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/protocol/listing.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string_view>

#include "core/summary.hpp"
#include "stores/redis/protocol/cluster.hpp"
#include "stores/redis/protocol/keys.hpp"
#include "stores/redis/protocol/scripts.hpp"
#include "stores/redis/protocol/server_answers.hpp"

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

namespace {

/// The server carries them out in one go, and sends no more than some 16 KiB of each.
constexpr std::size_t names_at_once = 32;

}  // namespace

/// One pass finds both kinds of keys, because a fence's key contains the lock's key.
void listing::append_scan(std::string& out, const dialect& in) const {
  std::string pattern{"*"};
  if (in.prefix.empty()) {
    pattern.append("\x1f").append("fence");
  } else {
    pattern.append(literally(in.prefix)).append("*");
  }
  append(out, {"SCAN", cursor, "MATCH", pattern, "COUNT", "1000", "TYPE", "string"});
}

bool listing::hear_scan(const value& reply, const dialect& in) {
  if (!reply.is(value::kind::list) || reply.items.size() != 2) throw misunderstood{};
  for (const value& key : reply.items[1].items) {
    const auto of_fence = lock_of_fence(key.text);
    // Without a prefix, any text at the server would look like a foreign client's lock.
    const bool is_lock = !in.prefix.empty() && !is_side_key(key.text);
    if (!of_fence && !is_lock) continue;
    const std::string& lock = of_fence ? *of_fence : key.text;
    // Other keys that match the pattern are no locks.
    if (lock.starts_with(in.prefix) && lock.size() > in.prefix.size()) found.insert(lock);
  }
  const std::string& next = reply.items[0].text;
  scanned = next == "0";
  const bool progress = scanned || next != cursor;  // otherwise the scan would not end
  cursor = next;
  return progress;
}

std::size_t listing::append_details(std::string& out) const {
  const script s = {text::inspect_sha1, text::inspect};
  std::size_t n = 0;
  for (auto lock = found.begin(); lock != found.end() && n < names_at_once; ++lock, ++n) {
    // One script in full, because the server may not have it.
    begin_call(out, s, n == 0, 1, inspection::argument_count);
    append_keys(out, {}, *lock);
    inspection::append_arguments_of_summary(out);
  }
  return n;
}

std::optional<store::request_error> listing::hear_details(const std::vector<value>& replies,
                                                          const dialect& in, bool idle) {
  for (const value& reply : replies) {
    const bool is_elsewhere = reply.is(value::kind::error) && redirection_in(reply.text);
    if (reply.is(value::kind::error) && !is_elsewhere) {
      store::request_error t = request_error_of(reply.text);
      if (t.reason.code != errc::wrong_type) return t;  // the key stays in `found`, for the next try
    }
    const std::string lock = *found.begin();
    found.erase(found.begin());
    if (is_elsewhere) moved.insert(lock);
    if (reply.is(value::kind::error)) continue;  // or the key is no lock, although its name matches
    inspected_part seen;
    try {
      seen = part_of(lock.substr(in.prefix.size()), reply);
    } catch (const misunderstood&) {
      continue;  // likewise
    }
    const bool in_use = seen.holders != 0 || seen.waiters != 0;
    if (!seen.state || !(in_use || idle)) continue;
    summaries.push_back(store::summary_of(*seen.state));
    summaries.back().holders = seen.holders;
    summaries.back().waiters = seen.waiters;
  }
  return std::nullopt;
}

}  // namespace holdfast::redis
