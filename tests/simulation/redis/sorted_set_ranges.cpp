#include <array>
#include <limits>
#include <utility>

#include "simulation/redis/numbers.hpp"
#include "simulation/redis/sorted_sets.hpp"

namespace holdfast::sim {

namespace {

struct range_options {
  bool by_score = false;
  bool reverse = false;
  bool scores = false;
  bool limited = false;
  std::int64_t offset = 0;
  std::int64_t count = -1;
};

/// \param all whether BYSCORE and REV are keywords of this command.
bool read_range_options(call& c, range_options& wanted, bool all) {
  for (std::size_t i = 4; i < c.size(); ++i) {
    if (is_keyword(c[i], "withscores")) {
      wanted.scores = true;
    } else if (is_keyword(c[i], "limit") && i + 2 < c.size()) {
      const auto offset = integer_in(c[i + 1]);
      const auto count = integer_in(c[i + 2]);
      if (!offset || !count) return c.error(says::not_an_integer), false;
      wanted.limited = true;
      wanted.offset = *offset;
      wanted.count = *count;
      i += 2;
    } else if (all && is_keyword(c[i], "byscore")) {
      wanted.by_score = true;
    } else if (all && is_keyword(c[i], "rev")) {
      wanted.reverse = true;
    } else {
      return c.error(says::syntax), false;
    }
  }
  if (wanted.limited && wanted.count != -1 && !wanted.by_score) {
    return c.error("ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX"),
           false;
  }
  wanted.limited = wanted.limited && wanted.by_score;
  return true;
}

void answer(call& c, const scored_members& all, places found, const range_options& wanted) {
  if (wanted.limited) {
    const std::int64_t skipped = wanted.offset < 0 ? found.size() : std::min(wanted.offset, found.size());
    const std::int64_t kept =
        wanted.count < 0 ? found.size() - skipped : std::min(wanted.count, found.size() - skipped);
    if (wanted.reverse)
      found = {found.end - skipped - kept, found.end - skipped};
    else
      found = {found.begin + skipped, found.begin + skipped + kept};
  }
  c.list();
  for (std::int64_t i = 0; i < found.size(); ++i) {
    const auto& one = all[static_cast<std::size_t>(wanted.reverse ? found.end - 1 - i : found.begin + i)];
    if (wanted.scores)
      add_scored(c, one, c.in_pairs());
    else
      c.add_text(one.member);
  }
}

void by_score(call& c, const range_options& wanted) {
  const auto range = wanted.reverse ? score_range::in(c[3], c[2]) : score_range::in(c[2], c[3]);
  if (!range) return c.error("ERR min or max is not a float");
  const scored_members* all = members_at(c, c[1]);
  if (all != nullptr) answer(c, *all, places::of(*all, *range), wanted);
}

void by_rank(call& c, const range_options& wanted) {
  const auto first = integer_in(c[2]);
  const auto last = integer_in(c[3]);
  if (!first || !last) return c.error(says::not_an_integer);
  const scored_members* all = members_at(c, c[1]);
  if (all == nullptr) return;
  places found = places::of_ranks(*all, *first, *last);
  if (wanted.reverse) found = {std::ssize(*all) - found.end, std::ssize(*all) - found.begin};
  answer(c, *all, found, wanted);
}

void zrange(call& c) {
  range_options wanted;
  if (!read_range_options(c, wanted, true)) return;
  if (wanted.by_score)
    by_score(c, wanted);
  else
    by_rank(c, wanted);
}

void zrevrange(call& c) {
  range_options wanted;
  wanted.reverse = true;
  if (read_range_options(c, wanted, false)) by_rank(c, wanted);
}

template <bool Reverse>
void zrangebyscore(call& c) {
  range_options wanted;
  wanted.by_score = true;
  wanted.reverse = Reverse;
  if (read_range_options(c, wanted, false)) by_score(c, wanted);
}

constexpr std::array table = {
    command{"zrange", -4, command::none, zrange},
    command{"zrevrange", -4, command::none, zrevrange},
    command{"zrangebyscore", -4, command::none, zrangebyscore<false>},
    command{"zrevrangebyscore", -4, command::none, zrangebyscore<true>},
};

/// One end of a range.
bool read_end(std::string_view text, double& score, bool& without) {
  without = text.starts_with('(');
  if (without) text.remove_prefix(1);
  const auto read = double_with_strtod(text);
  if (read) score = *read;
  return read.has_value();
}

}  // namespace

std::optional<score_range> score_range::in(std::string_view min, std::string_view max) {
  score_range range;
  if (!read_end(min, range.min, range.without_min)) return std::nullopt;
  if (!read_end(max, range.max, range.without_max)) return std::nullopt;
  return range;
}

places places::of(const scored_members& all, const score_range& range) {
  const auto too_low = [&](const sorted_set_value::scored& m) {
    return range.without_min ? m.score <= range.min : m.score < range.min;
  };
  const auto not_too_high = [&](const sorted_set_value::scored& m) {
    return range.without_max ? m.score < range.max : m.score <= range.max;
  };
  const auto begin = std::partition_point(all.begin(), all.end(), too_low);
  const auto end = std::partition_point(all.begin(), all.end(), not_too_high);
  return {begin - all.begin(), std::max(begin, end) - all.begin()};
}

places places::of_ranks(const scored_members& all, std::int64_t first, std::int64_t last) {
  const std::int64_t size = std::ssize(all);
  if (first < 0) first = std::max<std::int64_t>(first + size, 0);
  if (last < 0) last += size;
  last = std::min(last, size - 1);
  if (first > last) return {};
  return {first, last + 1};
}

std::span<const command> sorted_set_range_commands() { return table; }

}  // namespace holdfast::sim
