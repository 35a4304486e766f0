#include "simulation/redis_mutants.hpp"

#include <array>
#include <stdexcept>

#include "stores/redis/protocol/quorum_scripts.hpp"
#include "stores/redis/protocol/scripts.hpp"

namespace holdfast::sim {

namespace {

namespace text = redis::text;

struct script {
  std::string_view sha1;
  std::string_view text;
};
constexpr auto acquire = std::to_array<script>({{text::acquire_sha1, text::acquire}});
constexpr auto release = std::to_array<script>({{text::release_sha1, text::release}});
constexpr auto renew = std::to_array<script>({{text::renew_sha1, text::renew}});
constexpr auto look = std::to_array<script>({{text::look_sha1, text::look}});
constexpr auto force_release = std::to_array<script>({{text::force_release_sha1, text::force_release}});
constexpr auto request_release = std::to_array<script>({{text::request_release_sha1, text::request_release}});
constexpr auto guard = std::to_array<script>({{text::guard_sha1, text::guard}});
/// Those that include queue.lua.
constexpr auto queueing = std::to_array<script>({{text::acquire_sha1, text::acquire},
                                                 {text::downgrade_sha1, text::downgrade},
                                                 {text::force_release_sha1, text::force_release},
                                                 {text::look_sha1, text::look},
                                                 {text::release_sha1, text::release}});

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

template <class Scripts>
void change_all(const Scripts& scripts, std::initializer_list<change> changes,
                std::map<std::string, std::string, std::less<>>& into) {
  for (const script& s : scripts) {
    std::string changed{s.text};
    for (const change& c : changes) {
      const auto at = changed.find(c.from);
      if (at == std::string::npos || changed.find(c.from, at + 1) != std::string::npos) {
        throw std::runtime_error{"a mutant does not fit its script any more: " + std::string{c.from}};
      }
      changed.replace(at, c.from.size(), c.to);
    }
    into.emplace(s.sha1, changed);
    into.emplace(s.text, changed);
  }
}

}  // namespace

lua_mutation::lua_mutation(mutant which) {
  switch (which) {
    case mutant::owner_unchecked:
      // Whoever holds now is the one whose hold ends.
      change_all(release,
                 {{"local holds_alone = found[1] and found[1]:sub(22, 53) == owner",
                   "local holds_alone = found[1]"}},
                 texts_);
      break;
    case mutant::extension_resurrects:
      change_all(renew,
                 {{"if not value then return '0' end",
                   "if not value then\n    redis.call('SET', lock, string.rep('0', 20) .. ' ' .. owner .. ' "
                   "0 0 ' .. "
                   "whole .. ' ' .. whole .. ' ' .. ttl .. ' {}', 'PX', ttl)\n    return '1'\n  end"},
                  {"local keep = ARGV[1]", "local keep, whole = ARGV[1], 1073741824"}},
                 texts_);
      break;
    case mutant::dead_waiter_served:
      change_all(queueing,
                 {{"if is_end(first) then\n  is_crowded = bury(waiters)",
                   "if is_end(first) then\n  is_crowded = false"},
                  {"if is_crowded and not last_living(waiters) then", "if is_crowded then"}},
                 texts_);
      break;
    case mutant::reader_leaked:
      change_all(queueing, {{"held = math.max(0, held - c.weight)", "held = math.max(0, held)"}}, texts_);
      break;
    case mutant::foreign_holder_ended:
      change_all(force_release,
                 {{"if not alone then return { value } end\n  if is_meant(alone) then",
                   "if not alone or is_meant(alone) then"},
                  {"notify_end(alone)", "if alone then notify_end(alone) end"}},
                 texts_);
      break;
    case mutant::request_moves_end:
      change_all(request_release, {{"asked(alone), 'KEEPTTL')", "asked(alone))"}}, texts_);
      break;
    case mutant::request_to_next_holder:
      change_all(request_release, {{"(owner == '' or c.owner == owner) and ", ""}}, texts_);
      break;
    case mutant::foreign_end_missed:
      change_all(queueing, {{"is_exclusively_held() and not alone and 1 or 0", "0"}}, texts_);
      break;
    case mutant::look_not_kept:
      change_all(look,
                 {{"if is_there then keep_claim(set, owner, ttl, keep) end", ""},
                  {"  redis.call('PEXPIRE', KEYS[1], ttl)\n", ""}},
                 texts_);
      break;
    case mutant::guard_hands_over:
      change_all(release,
                 {{"if is_paused or is_exclusively_held()", "if is_exclusively_held()"},
                  {"local is_usual = not is_paused and", "local is_usual ="}},
                 texts_);
      break;
    case mutant::guard_for_one:
      change_all(guard, {{":format(id, run, longest, since, cause)", ":format(id, run, longest, 0, cause)"}},
                 texts_);
      break;
    case mutant::guard_too_short:
      change_all(guard, {{"since + longest - now", "since + longest / 2 - now"}}, texts_);
      break;
    case mutant::guard_after_promotion_ignored:
      change_all(guard, {{"(known_run ~= run or has_followed)", "known_run ~= run"}}, texts_);
      break;
    case mutant::guard_believes_kept_writes:
      change_all(guard, {{"remembers = not has_followed and writes", "remembers = writes"}}, texts_);
      break;
    case mutant::former_primary_too_short:
      change_all(guard, {{"now - since < former_primary then", "now - since < former_primary / 2 then"}},
                 texts_);
      break;
    case mutant::guard_head_start: change_all(acquire, {from_a_guard_on}, texts_); break;
    case mutant::fence_forgotten_early:
      change_all(acquire, {from_a_guard_on, {"math.max(0, math.min(ahead, furthest_ahead))", "0"}}, texts_);
      break;
    case mutant::moment_not_told:
      change_all(release,
                 {{"  know(last .. others, keep)\n  notify(head(), 'look')", "  know(last .. others, keep)"}},
                 texts_);
      break;
    case mutant::moment_without_end:
      change_all(queueing, {{"not value and now < free end", "not value and free > 0 end"}}, texts_);
      break;
    case mutant::moment_after_moment:
      change_all(release, {{"if ends_hold and not value and head()", "if c and not value and head()"}},
                 texts_);
      break;
    case mutant::tokens_unconditional:
      change_all(granting, {{"return is_new and number <=", "return true or number <="}}, texts_);
      break;
    case mutant::number_far_ahead:
      change_all(granting, {{"return is_new and number <=", "return is_new or number <="}}, texts_);
      break;
    case mutant::old_numbers:
      change_all(granting, {{"return oldest ~= '0' and number <=", "return false and number <="}}, texts_);
      break;
    case mutant::grant_outlives_ttl:
      change_all(claim, {{"'NX', 'PX', ARGV[2])", "'NX', 'PX', ARGV[3])"}}, texts_);
      break;
    case mutant::own_fence_refused:
      change_all(granting, {{" or number == fence_token and number == accepted", ""}}, texts_);
      break;
    case mutant::fence_for_anyone:
      change_all(granting, {{"number == fence_token and number == accepted", "number == fence_token"}},
                 texts_);
      break;
    case mutant::guard_votes: {
      const std::initializer_list<change> all{
          {"if c and is_paused and accepted_of(c) ~= none:sub(2) then", "if false then"},
          {"elseif c and not is_paused then", "elseif c then"}};
      change_all(voting, all, texts_);
      change_all(claim, all, texts_);
      break;
    }
    case mutant::late_yield:
      change_all(yield, {{"if c and c.since == grant then", "if c then"}}, texts_);
      break;
    case mutant::yield_not_renumbered:
      change_all(yield, {{"c.since = string.format('%.0f', c.since + 1)\n    rewrite(c)", ""}}, texts_);
      break;
    case mutant::withdrawal_ends_later_claims:
      change_all(vote_release, {{"return not last_meant or number <= last_meant", "return true"}}, texts_);
      break;
    case mutant::force_ends_later_claims:
      change_all(end_hold, {{"if c and c.token > last_meant then c = nil end", ""}}, texts_);
      break;
    case mutant::next_not_told:
      change_all(claim, {{"if others_move_up and head() then notify(head(), 'look') end", ""}}, texts_);
      break;
    case mutant::former_claim_stays: change_all(claim, {{"\nend_former()", ""}}, texts_); break;
    case mutant::ties_without_owner:
      change_all(granting, {{" or c.token == other.token and c.owner < other.owner", ""}}, texts_);
      break;
    default: break;
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
