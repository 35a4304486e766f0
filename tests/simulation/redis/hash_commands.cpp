#include <array>
#include <string>

#include "simulation/redis/command.hpp"
#include "simulation/redis/numbers.hpp"

namespace holdfast::sim {

namespace {

using fields = decltype(hash_value::fields);

const fields no_fields;

fields& fields_of(dataset::slot& s) { return std::get<hash_value>(s.second.value).fields; }

/// What a command that reads sees: nothing, where there is no such key. Null after a wrong type.
const fields* fields_at(call& c, std::string_view key) {
  bool wrong = false;
  dataset::slot* s = c.find<hash_value>(key, wrong);
  if (wrong) return nullptr;
  return s == nullptr ? &no_fields : &fields_of(*s);
}

std::size_t index_of(const fields& all, std::string_view field) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].first == field) return i;
  }
  return dataset::at_end;
}

const std::string* value_of(const fields& all, std::string_view field) {
  const std::size_t index = index_of(all, field);
  return index == dataset::at_end ? nullptr : &all[index].second;
}

/// Null, and an error for reply, for a key of another type.
dataset::slot* hash_to_write(call& c, std::string_view key) {
  bool wrong = false;
  dataset::slot* s = c.find<hash_value>(key, wrong);
  if (wrong) return nullptr;
  return s != nullptr ? s : &c.data.put(key, hash_value{});
}

void set_pairs(call& c, void (*answer)(call&, std::int64_t added), std::string_view name) {
  if (c.size() % 2 != 0) {
    return c.error("ERR wrong number of arguments for '" + std::string{name} + "' command");
  }
  dataset::slot* s = hash_to_write(c, c[1]);
  if (s == nullptr) return;
  std::int64_t added = 0;
  for (std::size_t i = 2; i < c.size(); i += 2) {
    const std::size_t index = index_of(fields_of(*s), c[i]);
    if (index == dataset::at_end) ++added;
    c.data.put_field(*s, index, c[i], c[i + 1]);
  }
  answer(c, added);
}
void hset(call& c) {
  set_pairs(c, [](call& of, std::int64_t added) { of.number(added); }, "hset");
}
void hmset(call& c) {
  set_pairs(c, [](call& of, std::int64_t) { of.ok(); }, "hmset");
}

void hsetnx(call& c) {
  const fields* all = fields_at(c, c[1]);
  if (all == nullptr) return;
  if (index_of(*all, c[2]) != dataset::at_end) return c.number(0);
  c.data.put_field(*hash_to_write(c, c[1]), dataset::at_end, c[2], c[3]);
  c.number(1);
}

void hget(call& c) {
  const fields* all = fields_at(c, c[1]);
  if (all == nullptr) return;
  if (const std::string* value = value_of(*all, c[2])) c.text(*value);
}

void hmget(call& c) {
  const fields* all = fields_at(c, c[1]);
  if (all == nullptr) return;
  c.list();
  for (const std::string_view field : c.arguments.subspan(2)) {
    if (const std::string* value = value_of(*all, field))
      c.add_text(*value);
    else
      c.add_null();
  }
}

template <bool Fields, bool Values>
void hash_parts(call& c) {
  const fields* all = fields_at(c, c[1]);
  if (all == nullptr) return;
  c.list();
  for (const auto& [field, value] : *all) {
    if constexpr (Fields) c.add_text(field);
    if constexpr (Values) c.add_text(value);
  }
}

void hlen(call& c) {
  if (const fields* all = fields_at(c, c[1])) c.number(std::ssize(*all));
}

void hexists(call& c) {
  if (const fields* all = fields_at(c, c[1])) c.number(index_of(*all, c[2]) != dataset::at_end ? 1 : 0);
}

void hdel(call& c) {
  bool wrong = false;
  dataset::slot* s = c.find<hash_value>(c[1], wrong);
  if (wrong) return;
  std::int64_t count = 0;
  if (s != nullptr) {
    for (const std::string_view field : c.arguments.subspan(2)) {
      const std::size_t index = index_of(fields_of(*s), field);
      if (index == dataset::at_end) continue;
      c.data.erase_field(*s, index);
      ++count;
    }
    c.data.drop_if_empty(*s);
  }
  c.number(count);
}

void hincrby(call& c) {
  const auto amount = integer_in(c[3]);
  if (!amount) return c.error(says::not_an_integer);
  const fields* all = fields_at(c, c[1]);
  if (all == nullptr) return;
  const std::size_t index = index_of(*all, c[2]);
  std::int64_t value = 0;
  if (index != dataset::at_end) {
    const auto before = integer_in((*all)[index].second);
    if (!before) return c.error("ERR hash value is not an integer");
    value = *before;
  }
  if (__builtin_add_overflow(value, *amount, &value)) return c.error(says::would_overflow);
  c.data.put_field(*hash_to_write(c, c[1]), index, c[2], std::to_string(value));
  c.number(value);
}

constexpr std::array table = {
    command{"hset", -4, command::writes_more, hset},
    command{"hmset", -4, command::writes_more, hmset},
    command{"hsetnx", 4, command::writes_more, hsetnx},
    command{"hget", 3, command::none, hget},
    command{"hmget", -3, command::none, hmget},
    command{"hgetall", 2, command::none, hash_parts<true, true>},
    command{"hkeys", 2, command::none, hash_parts<true, false>},
    command{"hvals", 2, command::none, hash_parts<false, true>},
    command{"hlen", 2, command::none, hlen},
    command{"hexists", 3, command::none, hexists},
    command{"hdel", -3, command::writes, hdel},
    command{"hincrby", 4, command::writes_more, hincrby},
};

}  // namespace

std::span<const command> hash_commands() { return table; }

}  // namespace holdfast::sim
