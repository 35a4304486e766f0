// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "simulation/redis/command.hpp"
#include "simulation/redis/numbers.hpp"

namespace holdfast::sim {

namespace {

using scored_members = decltype(sorted_set_value::members);

const scored_members no_members;

scored_members& members_of(dataset::slot& s) { return std::get<sorted_set_value>(s.second.value).members; }

/// What a command that reads sees: nothing, where there is no such key. Null after a wrong type.
const scored_members* members_at(call& c, std::string_view key) {
  bool wrong = false;
  dataset::slot* s = c.find<sorted_set_value>(key, wrong);
  if (wrong) return nullptr;
  return s == nullptr ? &no_members : &members_of(*s);
}

std::size_t index_of(const scored_members& all, std::string_view member) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].member == member) return i;
  }
  return dataset::at_end;
}

/// ZADD key [XX] score member [score member]...
void zadd(call& c) {
  const bool old_ones_alone = is_keyword(c[2], "xx");
  const std::size_t first = old_ones_alone ? 3 : 2;
  if (c.size() == first || (c.size() - first) % 2 != 0) return c.error(says::syntax);
  std::vector<double> scores;
  for (std::size_t i = first; i < c.size(); i += 2) {
    const auto score = c[i].empty() || c[i].starts_with(' ') ? std::nullopt : double_in(c[i]);
    if (!score) return c.error(says::not_a_float);
    scores.push_back(*score == 0 ? 0 : *score);  // a small set is kept in a form that has no negative zero
  }
  bool wrong = false;
  dataset::slot* s = c.find<sorted_set_value>(c[1], wrong);
  if (wrong) return;
  std::int64_t added = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const std::string member{c[first + 2 * i + 1]};
    const std::size_t index = s == nullptr ? dataset::at_end : index_of(members_of(*s), member);
    if (index == dataset::at_end) {
      if (old_ones_alone) continue;
      if (s == nullptr) s = &c.data.put(c[1], sorted_set_value{});
      ++added;
    } else {
      if (members_of(*s)[index].score == scores[i]) continue;
      c.data.erase_member(*s, index);
    }
    c.data.insert_member(*s, scores[i], member);
  }
  c.number(added);
}

void zrem(call& c) {
  bool wrong = false;
  dataset::slot* s = c.find<sorted_set_value>(c[1], wrong);
  if (wrong) return;
  std::int64_t count = 0;
  if (s != nullptr) {
    for (const std::string_view member : c.arguments.subspan(2)) {
      const std::size_t index = index_of(members_of(*s), member);
      if (index == dataset::at_end) continue;
      c.data.erase_member(*s, index);
      ++count;
    }
    if (members_of(*s).empty()) c.data.erase(*s);
  }
  c.number(count);
}

void zscore(call& c) {
  const scored_members* all = members_at(c, c[1]);
  if (all == nullptr) return;
  const std::size_t index = index_of(*all, c[2]);
  if (index != dataset::at_end) c.text(double_text{(*all)[index].score}.view());
}

void zcard(call& c) {
  if (const scored_members* all = members_at(c, c[1])) c.number(std::ssize(*all));
}

// -- ranges -------------------------------------------------------------------------------------------------

/// Half-open places in the order of the set.
struct places {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  [[nodiscard]] std::int64_t size() const { return std::max<std::int64_t>(end - begin, 0); }
};

/// One end of a range of scores: "(1" is without the end itself.
struct score_end {
  double score = 0;
  bool is_without = false;

  static std::optional<score_end> in(std::string_view text) {
    const bool is_without = text.starts_with('(');
    if (is_without) text.remove_prefix(1);
    const auto score = double_in(text);
    return score ? std::optional{score_end{*score, is_without}} : std::nullopt;
  }
};

/// Empty, and an error for reply, where the two are no range, or the key is of another type.
std::optional<places> places_by_score(call& c, std::string_view min, std::string_view max) {
  const auto low = score_end::in(min);
  const auto high = score_end::in(max);
  if (!low || !high) return c.error("ERR min or max is not a float"), std::nullopt;
  const scored_members* const all = members_at(c, c[1]);
  if (all == nullptr) return std::nullopt;
  const auto too_low = [&](const sorted_set_value::scored& m) {
    return low->is_without ? m.score <= low->score : m.score < low->score;
  };
  const auto not_too_high = [&](const sorted_set_value::scored& m) {
    return high->is_without ? m.score < high->score : m.score <= high->score;
  };
  const auto begin = std::partition_point(all->begin(), all->end(), too_low);
  const auto end = std::partition_point(all->begin(), all->end(), not_too_high);
  return places{begin - all->begin(), std::max(begin, end) - all->begin()};
}

void answer(call& c, const scored_members& all, places found, bool is_reverse, bool has_scores) {
  c.list();
  for (std::int64_t i = 0; i < found.size(); ++i) {
    const auto& one = all[static_cast<std::size_t>(is_reverse ? found.end - 1 - i : found.begin + i)];
    c.add_text(one.member);
    if (has_scores) c.add_text(double_text{one.score}.view());
  }
}

void zcount(call& c) {
  if (const auto found = places_by_score(c, c[2], c[3])) c.number(found->size());
}

/// ZRANGEBYSCORE key min max [WITHSCORES] [LIMIT offset count]: in scripts alone, as RESP3 has members and
/// scores in pairs.
template <bool Reverse>
void zrangebyscore(call& c) {
  bool has_scores = false;
  std::int64_t offset = 0;
  std::int64_t count = -1;
  for (std::size_t i = 4; i < c.size(); ++i) {
    if (is_keyword(c[i], "withscores") && c.in_script) {
      has_scores = true;
    } else if (is_keyword(c[i], "limit") && i + 2 < c.size()) {
      const auto skipped = integer_in(c[++i]);
      const auto wanted = integer_in(c[++i]);
      if (!skipped || !wanted) return c.error(says::not_an_integer);
      offset = *skipped;
      count = *wanted;
    } else {
      return c.error(says::syntax);
    }
  }
  auto found = Reverse ? places_by_score(c, c[3], c[2]) : places_by_score(c, c[2], c[3]);
  if (!found) return;
  const std::int64_t skipped = offset < 0 ? found->size() : std::min(offset, found->size());
  const std::int64_t left = found->size() - skipped;
  const std::int64_t kept = count < 0 ? left : std::min(count, left);
  if (Reverse)
    found = places{found->end - skipped - kept, found->end - skipped};
  else
    found = places{found->begin + skipped, found->begin + skipped + kept};
  answer(c, *members_at(c, c[1]), *found, Reverse, has_scores);
}

/// ZREVRANGE key first last: by rank from the end, where -1 is the last.
void zrevrange(call& c) {
  if (c.size() != 4) return c.error(says::syntax);
  auto first = integer_in(c[2]);
  auto last = integer_in(c[3]);
  if (!first || !last) return c.error(says::not_an_integer);
  const scored_members* all = members_at(c, c[1]);
  if (all == nullptr) return;
  const std::int64_t size = std::ssize(*all);
  if (*first < 0) first = std::max<std::int64_t>(*first + size, 0);
  if (*last < 0) *last += size;
  last = std::min(*last, size - 1);
  answer(c, *all, places{size - 1 - *last, size - *first}, true, false);
}

constexpr std::array table = {
    command{"zscore", 3, command::none, zscore},
    command{"zrangebyscore", -4, command::none, zrangebyscore<false>},
    command{"zadd", -4, command::writes_more, zadd},
    command{"zrem", -3, command::writes, zrem},
    command{"zcard", 2, command::none, zcard},
    command{"zcount", 4, command::none, zcount},
    command{"zrevrange", -4, command::none, zrevrange},
    command{"zrevrangebyscore", -4, command::none, zrangebyscore<true>},
};

}  // namespace

std::span<const command> sorted_set_commands() { return table; }

}  // namespace holdfast::sim
