#include <array>
#include <limits>
#include <string>

#include "simulation/redis/expiry.hpp"
#include "simulation/redis/numbers.hpp"

namespace holdfast::sim {

namespace {

struct set_options {
  bool nx = false;
  bool xx = false;
  bool get = false;
  bool keep_ttl = false;
  const expiry_unit* unit = nullptr;
  std::string_view expiry;
};

const expiry_unit* unit_named(std::string_view argument) {
  if (is_keyword(argument, "px")) return &milliseconds_from_now;
  if (is_keyword(argument, "ex")) return &seconds_from_now;
  if (is_keyword(argument, "pxat")) return &milliseconds_of_clock;
  if (is_keyword(argument, "exat")) return &seconds_of_clock;
  return nullptr;
}

bool read_set_options(call& c, set_options& wanted) {
  for (std::size_t i = 3; i < c.size(); ++i) {
    const std::string_view argument = c[i];
    if (is_keyword(argument, "nx") && !wanted.xx) {
      wanted.nx = true;
    } else if (is_keyword(argument, "xx") && !wanted.nx) {
      wanted.xx = true;
    } else if (is_keyword(argument, "get")) {
      wanted.get = true;
    } else if (is_keyword(argument, "keepttl") && wanted.unit == nullptr) {
      wanted.keep_ttl = true;
    } else if (const expiry_unit* unit = unit_named(argument);
               unit != nullptr && wanted.unit == nullptr && !wanted.keep_ttl && i + 1 < c.size()) {
      wanted.unit = unit;
      wanted.expiry = c[++i];
    } else {
      return c.error(says::syntax), false;
    }
  }
  return true;
}

void set(call& c) {
  set_options wanted;
  if (!read_set_options(c, wanted)) return;
  std::int64_t until = dataset::never;
  if (wanted.unit != nullptr) {
    const auto wanted_until = expiry_in(c, wanted.expiry, *wanted.unit, true);
    if (!wanted_until) return;
    until = *wanted_until;
  }
  dataset::slot* s = c.data.find(c[1]);
  if (wanted.get && s != nullptr) {
    const auto* before = std::get_if<std::string>(&s->second.value);
    if (before == nullptr) return c.error(says::wrong_type);
    c.text(*before);
  }
  if (s != nullptr ? wanted.nx : wanted.xx) return;
  if (wanted.keep_ttl && s != nullptr) until = s->second.expires_ms;
  c.data.put(c[1], std::string{c[2]}, until);
  if (!wanted.get) c.ok();
}

void setnx(call& c) {
  const bool free = c.data.find(c[1]) == nullptr;
  if (free) c.data.put(c[1], std::string{c[2]});
  c.number(free ? 1 : 0);
}

template <const expiry_unit& Unit>
void setex(call& c) {
  const auto until = expiry_in(c, c[2], Unit, true);
  if (!until) return;
  c.data.put(c[1], std::string{c[3]}, *until);
  c.ok();
}

void get(call& c) {
  bool wrong = false;
  const dataset::slot* s = c.find<std::string>(c[1], wrong);
  if (s != nullptr && !wrong) c.text(std::get<std::string>(s->second.value));
}

void getdel(call& c) {
  bool wrong = false;
  dataset::slot* s = c.find<std::string>(c[1], wrong);
  if (s == nullptr || wrong) return;
  c.text(std::get<std::string>(s->second.value));
  c.data.erase(*s);
}

void mget(call& c) {
  c.list();
  for (const std::string_view key : c.arguments.subspan(1)) {
    const dataset::slot* s = c.data.find(key);
    const auto* found = s == nullptr ? nullptr : std::get_if<std::string>(&s->second.value);
    if (found == nullptr)
      c.add_null();
    else
      c.add_text(*found);
  }
}

void strlen(call& c) {
  bool wrong = false;
  const dataset::slot* s = c.find<std::string>(c[1], wrong);
  if (!wrong) c.number(s == nullptr ? 0 : std::ssize(std::get<std::string>(s->second.value)));
}

void getrange(call& c) {
  auto first = integer_in(c[2]);
  auto last = integer_in(c[3]);
  if (!first || !last) return c.error(says::not_an_integer);
  bool wrong = false;
  const dataset::slot* s = c.find<std::string>(c[1], wrong);
  if (wrong) return;
  const std::string_view value = s == nullptr ? std::string_view{} : std::get<std::string>(s->second.value);
  const std::int64_t size = std::ssize(value);
  if (*first < 0 && *last < 0 && *first > *last) return c.text({});
  if (*first < 0) first = std::max<std::int64_t>(*first + size, 0);
  if (*last < 0) last = std::max<std::int64_t>(*last + size, 0);
  last = std::min(*last, size - 1);
  if (*first > *last) return c.text({});
  c.text(std::string{
      value.substr(static_cast<std::size_t>(*first), static_cast<std::size_t>(*last - *first + 1))});
}

void add(call& c, std::int64_t amount) {
  bool wrong = false;
  dataset::slot* s = c.find<std::string>(c[1], wrong);
  if (wrong) return;
  std::int64_t value = 0;
  if (s != nullptr) {
    const auto before = integer_in(std::get<std::string>(s->second.value));
    if (!before) return c.error(says::not_an_integer);
    value = *before;
  }
  if (__builtin_add_overflow(value, amount, &value)) return c.error(says::would_overflow);
  if (s == nullptr)
    c.data.put(c[1], std::to_string(value));
  else
    c.data.set_text(*s, std::to_string(value));
  c.number(value);
}

void incr(call& c) { add(c, 1); }
void decr(call& c) { add(c, -1); }
void incrby(call& c) {
  const auto amount = integer_in(c[2]);
  if (!amount) return c.error(says::not_an_integer);
  add(c, *amount);
}
void decrby(call& c) {
  const auto amount = integer_in(c[2]);
  if (!amount) return c.error(says::not_an_integer);
  if (*amount == std::numeric_limits<std::int64_t>::min()) return c.error("ERR decrement would overflow");
  add(c, -*amount);
}

constexpr std::array table = {
    command{"set", -3, command::writes_more, set},
    command{"setnx", 3, command::writes_more, setnx},
    command{"setex", 4, command::writes_more, setex<seconds_from_now>},
    command{"psetex", 4, command::writes_more, setex<milliseconds_from_now>},
    command{"get", 2, command::none, get},
    command{"getdel", 2, command::writes, getdel},
    command{"mget", -2, command::none, mget},
    command{"strlen", 2, command::none, strlen},
    command{"getrange", 4, command::none, getrange},
    command{"incr", 2, command::writes_more, incr},
    command{"decr", 2, command::writes_more, decr},
    command{"incrby", 3, command::writes_more, incrby},
    command{"decrby", 3, command::writes_more, decrby},
};

}  // namespace

std::span<const command> string_commands() { return table; }

}  // namespace holdfast::sim
