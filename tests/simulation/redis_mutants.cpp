// SPDX-License-Identifier: Apache-2.0
#include "simulation/redis_mutants.hpp"

#include <array>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "stores/redis/protocol/quorum_scripts.hpp"
#include "stores/redis/protocol/scripts.hpp"

namespace holdfast::sim {

namespace {

namespace text = redis::text;

struct script {
  std::string_view sha1;
  std::string_view text;
};
constexpr auto acquire_all = std::to_array<script>({{text::acquire_all_sha1, text::acquire_all}});
constexpr auto release_all = std::to_array<script>({{text::release_all_sha1, text::release_all}});
/// Alone, and as a part of a joint request.
constexpr auto acquire = std::to_array<script>({{text::acquire_sha1, text::acquire}, acquire_all[0]});
constexpr auto release = std::to_array<script>({{text::release_sha1, text::release}, release_all[0]});
constexpr auto renew = std::to_array<script>({{text::renew_sha1, text::renew}});
constexpr auto look = std::to_array<script>({{text::look_sha1, text::look}});
constexpr auto force_release = std::to_array<script>({{text::force_release_sha1, text::force_release}});
constexpr auto request_release = std::to_array<script>({{text::request_release_sha1, text::request_release}});
constexpr auto guard = std::to_array<script>({{text::guard_sha1, text::guard}});
/// Those that include queue.lua.
constexpr auto queueing = std::to_array<script>({acquire[0],
                                                 acquire_all[0],
                                                 {text::downgrade_sha1, text::downgrade},
                                                 {text::force_release_sha1, text::force_release},
                                                 {text::look_sha1, text::look},
                                                 release[0],
                                                 release_all[0]});

namespace votes = redis::quorum_text;
constexpr auto vote_release = std::to_array<script>({{votes::release_sha1, votes::release}});
constexpr auto end_hold = std::to_array<script>({{votes::end_hold_sha1, votes::end_hold}});
constexpr auto yield = std::to_array<script>({{votes::yield_sha1, votes::yield}});
constexpr auto claim = std::to_array<script>({{votes::claim_sha1, votes::claim}});
/// Those that include quorum/grant.lua.
constexpr auto granting = std::to_array<script>({{votes::accept_sha1, votes::accept},
                                                 {votes::claim_sha1, votes::claim},
                                                 {votes::downgrade_sha1, votes::downgrade},
                                                 {votes::end_hold_sha1, votes::end_hold},
                                                 {votes::release_sha1, votes::release},
                                                 {votes::yield_sha1, votes::yield}});
/// Those that include quorum/vote.lua.
constexpr auto voting = std::to_array<script>({{votes::accept_sha1, votes::accept},
                                               {votes::end_hold_sha1, votes::end_hold},
                                               {votes::yield_sha1, votes::yield}});

struct change {
  std::string_view from;  // has to be found once
  std::string_view to;
};

/// A token drawn in a guard is ahead of the clock by a whole guard, and not by what is left of it.
constexpr change from_a_guard_on{"ARGV[#ARGV]:sub(8) * 1000)", "micros + 3000000)"};

struct text_mutant {
  mutant which;
  std::span<const script> scripts;
  std::vector<change> changes;
};

const std::vector<text_mutant>& text_mutants() {
  static const std::vector<text_mutant> all{
      // Whoever holds now is the one whose hold ends.
      {mutant::owner_unchecked,
       release,
       {{"local holds_alone = found[1] and found[1]:sub(22, 53) == owner", "local holds_alone = found[1]"}}},
      {mutant::extension_resurrects,
       renew,
       {{"if not value then return '0' end",
         "if not value then\n    redis.call('SET', lock, string.rep('0', 20) .. ' ' .. owner .. ' "
         "0 0 ' .. "
         "whole .. ' ' .. whole .. ' ' .. ttl .. ' {}', 'PX', ttl)\n    return '1'\n  end"},
        {"local keep = ARGV[1]", "local keep, whole = ARGV[1], 1073741824"}}},
      {mutant::dead_waiter_served,
       queueing,
       {{"if is_end(first) then\n  is_crowded = bury(waiters)",
         "if is_end(first) then\n  is_crowded = false"},
        {"if is_crowded and not last_living(waiters) then", "if is_crowded then"}}},
      {mutant::reader_leaked,
       queueing,
       {{"held = math.max(0, held - c.weight)", "held = math.max(0, held)"}}},
      {mutant::foreign_holder_ended,
       force_release,
       {{"if not alone then return { value } end\n  if is_meant(alone) then",
         "if not alone or is_meant(alone) then"},
        {"notify_end(alone)", "if alone then notify_end(alone) end"}}},
      {mutant::joint_release_forgets_one,
       release_all,
       {{"redis.call('DEL', unpack(free))", "redis.call('DEL', free[1])"}}},
      {mutant::joint_claim_goes_on, acquire_all, {{"  if type(answer) ~= 'string' then break end\n", ""}}},
      {mutant::request_moves_end, request_release, {{"asked(alone), 'KEEPTTL')", "asked(alone))"}}},
      {mutant::request_to_next_holder, request_release, {{"(owner == '' or c.owner == owner) and ", ""}}},
      {mutant::foreign_end_missed, queueing, {{"is_exclusively_held() and not alone and 1 or 0", "0"}}},
      {mutant::look_not_kept,
       look,
       {{"if is_there then keep_claim(set, owner, ttl, keep) end", ""},
        {"  redis.call('PEXPIRE', KEYS[1], ttl)\n", ""}}},
      {mutant::guard_hands_over,
       release,
       {{"if is_paused or is_exclusively_held()", "if is_exclusively_held()"},
        {"local is_usual = not is_paused and", "local is_usual ="}}},
      {mutant::guard_for_one,
       guard,
       {{"longest, counts_until, shorter, since, cause)", "longest, counts_until, shorter, 0, cause)"}}},
      {mutant::guard_too_short, guard, {{"since + longest - now", "since + longest / 2 - now"}}},
      {mutant::guard_after_promotion_ignored,
       guard,
       {{"(known_run ~= run or has_followed)", "known_run ~= run"}}},
      {mutant::guard_believes_kept_writes,
       guard,
       {{"remembers = not has_followed and writes", "remembers = writes"}}},
      {mutant::former_primary_too_short,
       guard,
       {{"now - since < former_primary then", "now - since < former_primary / 2 then"}}},
      {mutant::guard_head_start, acquire, {from_a_guard_on}},
      {mutant::fence_forgotten_early,
       acquire,
       {from_a_guard_on, {"math.max(0, math.min(ahead, furthest_ahead))", "0"}}},
      {mutant::moment_not_told,
       release,
       {{"  know(last .. others, keep)\n  notify(head(), 'look')", "  know(last .. others, keep)"}}},
      {mutant::moment_without_end,
       queueing,
       {{"not value and now < free end", "not value and free > 0 end"}}},
      {mutant::moment_after_moment,
       release,
       {{"if ends_hold and not value and head()", "if c and not value and head()"}}},
      {mutant::tokens_unconditional, granting, {{"return is_new and number <=", "return true or number <="}}},
      {mutant::number_far_ahead, granting, {{"return is_new and number <=", "return is_new or number <="}}},
      {mutant::old_numbers, granting, {{"return oldest ~= '0' and number <=", "return false and number <="}}},
      {mutant::grant_outlives_ttl, claim, {{"'NX', 'PX', ARGV[2])", "'NX', 'PX', ARGV[3])"}}},
      {mutant::own_fence_refused, granting, {{" or number == fence_token and number == accepted", ""}}},
      {mutant::fence_for_anyone,
       granting,
       {{"number == fence_token and number == accepted", "number == fence_token"}}},
      {mutant::guard_votes,
       voting,
       {{"if c and is_paused and accepted_of(c) ~= none:sub(2) then", "if false then"},
        {"elseif c and not is_paused then", "elseif c then"}}},
      {mutant::guard_votes,
       claim,
       {{"if c and is_paused and accepted_of(c) ~= none:sub(2) then", "if false then"},
        {"elseif c and not is_paused then", "elseif c then"}}},
      {mutant::late_yield, yield, {{"if c and c.since == grant then", "if c then"}}},
      {mutant::yield_not_renumbered,
       yield,
       {{"c.since = string.format('%.0f', c.since + 1)\n    rewrite(c)", ""}}},
      {mutant::withdrawal_ends_later_claims,
       vote_release,
       {{"return not last_meant or number <= last_meant", "return true"}}},
      {mutant::force_ends_later_claims, end_hold, {{"if c and c.token > last_meant then c = nil end", ""}}},
      {mutant::next_not_told, claim, {{"if others_move_up and head() then notify(head(), 'look') end", ""}}},
      {mutant::former_claim_stays, claim, {{"\nend_former()", ""}}},
      {mutant::ties_without_owner, granting, {{" or c.token == other.token and c.owner < other.owner", ""}}},
  };
  return all;
}

std::string changed_text(const script& s, const std::vector<change>& changes) {
  std::string changed{s.text};
  for (const change& c : changes) {
    const auto at = changed.find(c.from);
    if (at == std::string::npos || changed.find(c.from, at + 1) != std::string::npos) {
      throw std::runtime_error{"a mutant does not fit its script any more: " + std::string{c.from}};
    }
    changed.replace(at, c.from.size(), c.to);
  }
  return changed;
}

}  // namespace

lua_mutation::lua_mutation(mutant which) {
  for (const text_mutant& each : text_mutants()) {
    if (each.which != which) continue;
    for (const script& s : each.scripts) {
      const std::string changed = changed_text(s, each.changes);
      texts_.emplace(s.sha1, changed);
      texts_.emplace(s.text, changed);
    }
  }
}

void lua_mutation::apply(std::vector<std::string_view>& command) const {
  if (texts_.empty() || command.size() < 2) return;
  if (command[0] != "EVALSHA" && command[0] != "EVAL") return;
  const auto found = texts_.find(command[1]);
  if (found == texts_.end()) return;
  command[0] = "EVAL";
  command[1] = found->second;
}

}  // namespace holdfast::sim
