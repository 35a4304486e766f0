#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "simulation/redis/command.hpp"
#include "simulation/redis/numbers.hpp"

// Locks have little use for these: enough of them, and no more, to be there when a script is tried with them.

namespace holdfast::sim {

namespace {

auto& items_of(content& value) { return std::get<list_value>(value).items; }
auto& members_of(content& value) { return std::get<set_value>(value).members; }

// -- lists --------------------------------------------------------------------------------------------------

template <bool Front>
void push(call& c) {
  bool wrong = false;
  dataset::slot* s = c.find<list_value>(c[1], wrong);
  if (wrong) return;
  auto& items = items_of(s == nullptr ? c.data.put(c[1], list_value{}).second.value : c.data.rewrite(*s));
  for (const std::string_view item : c.arguments.subspan(2))
    items.emplace(Front ? items.begin() : items.end(), item);
  c.number(std::ssize(items));
}

template <bool Front>
void pop(call& c) {
  std::int64_t count = 1;
  if (c.size() > 3) {
    return c.error(Front ? "ERR wrong number of arguments for 'lpop' command"
                         : "ERR wrong number of arguments for 'rpop' command");
  }
  if (c.size() == 3) {
    const auto wanted = integer_in(c[2]);
    if (!wanted || *wanted < 0) return c.error("ERR value is out of range, must be positive");
    count = *wanted;
  }
  bool wrong = false;
  dataset::slot* s = c.find<list_value>(c[1], wrong);
  if (s == nullptr || wrong) return;
  if (c.size() == 3) c.list();
  if (count == 0) return;
  auto& items = items_of(c.data.rewrite(*s));
  for (; count > 0 && !items.empty(); --count) {
    const std::string& item = Front ? items.front() : items.back();
    if (c.size() == 3)
      c.add_text(item);
    else
      c.text(item);
    if (Front)
      items.pop_front();
    else
      items.pop_back();
  }
  c.data.drop_if_empty(*s);
}

void llen(call& c) {
  bool wrong = false;
  dataset::slot* s = c.find<list_value>(c[1], wrong);
  if (!wrong) c.number(s == nullptr ? 0 : std::ssize(items_of(s->second.value)));
}

void lrange(call& c) {
  const auto from = integer_in(c[2]);
  const auto to = integer_in(c[3]);
  if (!from || !to) return c.error(says::not_an_integer);
  bool wrong = false;
  dataset::slot* s = c.find<list_value>(c[1], wrong);
  if (wrong) return;
  c.list();
  if (s == nullptr) return;
  const auto& items = items_of(s->second.value);
  const auto size = std::ssize(items);
  const auto first = std::max<std::int64_t>(*from < 0 ? *from + size : *from, 0);
  const auto last = std::min<std::int64_t>(*to < 0 ? *to + size : *to, size - 1);
  for (auto i = first; i <= last; ++i) c.add_text(items[static_cast<std::size_t>(i)]);
}

void lrem(call& c) {
  const auto wanted = integer_in(c[2]);
  if (!wanted) return c.error(says::not_an_integer);
  bool wrong = false;
  dataset::slot* s = c.find<list_value>(c[1], wrong);
  if (wrong) return;
  std::int64_t count = 0;
  if (s != nullptr) {
    auto& items = items_of(c.data.rewrite(*s));
    // The smallest number has no opposite: to the server, too, that means all.
    const bool all = *wanted == 0 || *wanted == std::numeric_limits<std::int64_t>::min();
    const auto limit = all ? std::ssize(items) : std::abs(*wanted);
    const auto remove = [&](const std::string& item) { return item == c[3] && count < limit && ++count > 0; };
    if (*wanted < 0) std::reverse(items.begin(), items.end());
    items.erase(std::remove_if(items.begin(), items.end(), remove), items.end());
    if (*wanted < 0) std::reverse(items.begin(), items.end());
    c.data.drop_if_empty(*s);
  }
  c.number(count);
}

// -- sets ---------------------------------------------------------------------------------------------------

void sadd(call& c) {
  bool wrong = false;
  dataset::slot* s = c.find<set_value>(c[1], wrong);
  if (wrong) return;
  auto& members = members_of(s == nullptr ? c.data.put(c[1], set_value{}).second.value : c.data.rewrite(*s));
  const auto before = std::ssize(members);
  for (const std::string_view member : c.arguments.subspan(2)) {
    if (std::find(members.begin(), members.end(), member) == members.end()) members.emplace_back(member);
  }
  c.number(std::ssize(members) - before);
}

void srem(call& c) {
  bool wrong = false;
  dataset::slot* s = c.find<set_value>(c[1], wrong);
  if (wrong) return;
  if (s == nullptr) return c.number(0);
  auto& members = members_of(c.data.rewrite(*s));
  const auto before = std::ssize(members);
  for (const std::string_view member : c.arguments.subspan(2)) std::erase(members, member);
  c.number(before - std::ssize(members));
  c.data.drop_if_empty(*s);
}

void smembers(call& c) {
  bool wrong = false;
  dataset::slot* s = c.find<set_value>(c[1], wrong);
  if (wrong) return;
  c.list();
  if (s == nullptr) return;
  for (const std::string& member : members_of(s->second.value)) c.add_text(member);
}

void scard(call& c) {
  bool wrong = false;
  dataset::slot* s = c.find<set_value>(c[1], wrong);
  if (!wrong) c.number(s == nullptr ? 0 : std::ssize(members_of(s->second.value)));
}

void sismember(call& c) {
  bool wrong = false;
  dataset::slot* s = c.find<set_value>(c[1], wrong);
  if (wrong) return;
  if (s == nullptr) return c.number(0);
  const auto& members = members_of(s->second.value);
  c.number(std::find(members.begin(), members.end(), c[2]) != members.end() ? 1 : 0);
}

constexpr std::array table = {
    command{"lpush", -3, command::writes_more, push<true>},
    command{"rpush", -3, command::writes_more, push<false>},
    command{"lpop", -2, command::writes, pop<true>},
    command{"rpop", -2, command::writes, pop<false>},
    command{"llen", 2, command::none, llen},
    command{"lrange", 4, command::none, lrange},
    command{"lrem", 4, command::writes, lrem},
    command{"sadd", -3, command::writes_more, sadd},
    command{"srem", -3, command::writes, srem},
    command{"smembers", 2, command::none, smembers},
    command{"scard", 2, command::none, scard},
    command{"sismember", 3, command::none, sismember},
};

}  // namespace

std::span<const command> list_and_set_commands() { return table; }

}  // namespace holdfast::sim
