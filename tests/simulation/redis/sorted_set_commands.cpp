#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "simulation/redis/numbers.hpp"
#include "simulation/redis/sorted_sets.hpp"

namespace holdfast::sim {

namespace {

const scored_members no_members;

scored_members& members_of(dataset::slot& s) { return std::get<sorted_set_value>(s.second.value).members; }

// -- ZADD ---------------------------------------------------------------------------------------------------

struct add_options {
  bool nx = false;
  bool xx = false;
  bool gt = false;
  bool lt = false;
  bool changed = false;
  bool increment = false;
};

/// \return the place of the first score.
std::size_t read_add_options(call& c, add_options& wanted) {
  std::size_t i = 2;
  for (; i < c.size(); ++i) {
    if (is_keyword(c[i], "nx"))
      wanted.nx = true;
    else if (is_keyword(c[i], "xx"))
      wanted.xx = true;
    else if (is_keyword(c[i], "gt"))
      wanted.gt = true;
    else if (is_keyword(c[i], "lt"))
      wanted.lt = true;
    else if (is_keyword(c[i], "ch"))
      wanted.changed = true;
    else if (is_keyword(c[i], "incr"))
      wanted.increment = true;
    else
      break;
  }
  return i;
}

bool fit_together(call& c, const add_options& wanted, std::size_t arguments_left) {
  if (arguments_left == 0 || arguments_left % 2 != 0) return c.error(says::syntax), false;
  if (wanted.nx && wanted.xx) {
    return c.error("ERR XX and NX options at the same time are not compatible"), false;
  }
  if ((wanted.gt && (wanted.nx || wanted.lt)) || (wanted.lt && wanted.nx)) {
    return c.error("ERR GT, LT, and/or NX options at the same time are not compatible"), false;
  }
  if (wanted.increment && arguments_left > 2) {
    return c.error("ERR INCR option supports a single increment-element pair"), false;
  }
  return true;
}

/// A small set is kept in a form that has no negative zero.
double stored(double score) { return score == 0 ? 0 : score; }

enum class added : std::uint8_t { new_member, new_score, same_score, not_wanted, not_a_number };

added add_one(dataset& data, dataset::slot& s, const add_options& wanted, double& score,
              std::string_view member) {
  const std::size_t index = index_of(members_of(s), member);
  if (index == dataset::at_end) {
    if (wanted.xx) return added::not_wanted;
    data.insert_member(s, stored(score), member);
    return added::new_member;
  }
  if (wanted.nx) return added::not_wanted;
  const double before = members_of(s)[index].score;
  if (wanted.increment) score += before;
  if (std::isnan(score)) return added::not_a_number;
  if ((wanted.gt && score <= before) || (wanted.lt && score >= before)) return added::not_wanted;
  if (score == before) return added::same_score;
  const std::string kept{member};
  data.erase_member(s, index);
  data.insert_member(s, stored(score), kept);
  return added::new_score;
}

void add_all(call& c, const add_options& wanted, std::size_t first) {
  std::vector<double> scores;
  for (std::size_t i = first; i < c.size(); i += 2) {
    const auto score = double_in(c[i]);
    if (!score) return c.error(says::not_a_float);
    scores.push_back(*score);
  }
  bool wrong = false;
  dataset::slot* s = c.find<sorted_set_value>(c[1], wrong);
  if (wrong) return;
  if (s == nullptr && wanted.xx) return wanted.increment ? void() : c.number(0);
  if (s == nullptr) s = &c.data.put(c[1], sorted_set_value{});

  std::int64_t count = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const added outcome = add_one(c.data, *s, wanted, scores[i], c[first + 2 * i + 1]);
    if (outcome == added::not_a_number) return c.error("ERR resulting score is not a number (NaN)");
    if (outcome == added::not_wanted && wanted.increment) return;
    if (outcome == added::new_member || (outcome == added::new_score && wanted.changed)) ++count;
  }
  if (wanted.increment)
    c.text(double_text{scores[0]}.view());
  else
    c.number(count);
}

void zadd(call& c) {
  add_options wanted;
  const std::size_t first = read_add_options(c, wanted);
  if (fit_together(c, wanted, c.size() - first)) add_all(c, wanted, first);
}

void zincrby(call& c) {
  add_options wanted;
  wanted.increment = true;
  add_all(c, wanted, 2);
}

// -- one member, or how many --------------------------------------------------------------------------------

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
    c.data.drop_if_empty(*s);
  }
  c.number(count);
}

void zscore(call& c) {
  const scored_members* all = members_at(c, c[1]);
  if (all == nullptr) return;
  const std::size_t index = index_of(*all, c[2]);
  if (index != dataset::at_end) c.text(double_text{(*all)[index].score}.view());
}

void zmscore(call& c) {
  const scored_members* all = members_at(c, c[1]);
  if (all == nullptr) return;
  c.list();
  for (const std::string_view member : c.arguments.subspan(2)) {
    const std::size_t index = index_of(*all, member);
    if (index == dataset::at_end)
      c.add_null();
    else
      c.add_text(double_text{(*all)[index].score}.view());
  }
}

void zcard(call& c) {
  if (const scored_members* all = members_at(c, c[1])) c.number(std::ssize(*all));
}

void zcount(call& c) {
  const auto range = score_range::in(c[2], c[3]);
  if (!range) return c.error("ERR min or max is not a float");
  if (const scored_members* all = members_at(c, c[1])) c.number(places::of(*all, *range).size());
}

template <bool Reverse>
void zrank(call& c) {
  const scored_members* all = members_at(c, c[1]);
  if (all == nullptr) return;
  const std::size_t index = index_of(*all, c[2]);
  if (index == dataset::at_end) return;
  c.number(static_cast<std::int64_t>(Reverse ? all->size() - 1 - index : index));
}

// -- taking out ---------------------------------------------------------------------------------------------

void remove_places(call& c, places gone) {
  if (gone.size() > 0) {
    dataset::slot& s = *c.data.find(c[1]);
    for (auto i = gone.end; i > gone.begin; --i) c.data.erase_member(s, static_cast<std::size_t>(i - 1));
    c.data.drop_if_empty(s);
  }
  c.number(gone.size());
}

void zremrangebyscore(call& c) {
  const auto range = score_range::in(c[2], c[3]);
  if (!range) return c.error("ERR min or max is not a float");
  if (const scored_members* all = members_at(c, c[1])) remove_places(c, places::of(*all, *range));
}

void zremrangebyrank(call& c) {
  const auto first = integer_in(c[2]);
  const auto last = integer_in(c[3]);
  if (!first || !last) return c.error(says::not_an_integer);
  if (const scored_members* all = members_at(c, c[1]))
    remove_places(c, places::of_ranks(*all, *first, *last));
}

template <bool Max>
void zpop(call& c) {
  if (c.size() > 3) return c.error(says::syntax);
  std::int64_t count = 1;
  if (c.size() == 3) {
    const auto wanted = integer_in(c[2]);
    if (!wanted || *wanted < 0) return c.error("ERR value is out of range, must be positive");
    count = *wanted;
  }
  bool wrong = false;
  dataset::slot* s = c.find<sorted_set_value>(c[1], wrong);
  if (wrong) return;
  c.list();
  if (s == nullptr) return;
  const bool pairs = c.size() == 3 && c.in_pairs();
  for (; count > 0 && !members_of(*s).empty(); --count) {
    const std::size_t index = Max ? members_of(*s).size() - 1 : 0;
    add_scored(c, members_of(*s)[index], pairs);
    c.data.erase_member(*s, index);
  }
  c.data.drop_if_empty(*s);
}

constexpr std::array table = {
    command{"zadd", -4, command::writes_more, zadd},
    command{"zincrby", 4, command::writes_more, zincrby},
    command{"zrem", -3, command::writes, zrem},
    command{"zscore", 3, command::none, zscore},
    command{"zmscore", -3, command::none, zmscore},
    command{"zcard", 2, command::none, zcard},
    command{"zcount", 4, command::none, zcount},
    command{"zrank", 3, command::none, zrank<false>},
    command{"zrevrank", 3, command::none, zrank<true>},
    command{"zremrangebyscore", 4, command::writes, zremrangebyscore},
    command{"zremrangebyrank", 4, command::writes, zremrangebyrank},
    command{"zpopmin", -2, command::writes, zpop<false>},
    command{"zpopmax", -2, command::writes, zpop<true>},
};

}  // namespace

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

void add_scored(call& c, const sorted_set_value::scored& member, bool pairs) {
  if (!pairs) {
    c.add_text(member.member);
    c.add_text(double_text{member.score}.view());
    return;
  }
  redis::value& pair = c.reply.items.emplace_back();
  pair.type = redis::value::kind::list;
  pair.items.resize(2);
  for (redis::value& part : pair.items) part.type = redis::value::kind::text;
  pair.items[0].text = member.member;
  pair.items[1].text = double_text{member.score}.view();
}

std::span<const command> sorted_set_commands() { return table; }

}  // namespace holdfast::sim
