#include "simulation/redis/against_server/raw_steps.hpp"

#include <array>
#include <cctype>
#include <sstream>
#include <string_view>

#include "simulation/redis/sha1.hpp"

namespace holdfast::sim {

namespace {

using namespace std::string_literals;
using comparison = step::comparison;

// $k key, $v value, $f field or member, $i integer, $n small number, $s score, $r end of a range of scores,
// $e expiry in seconds, $p in milliseconds, $E and $P of the clock, $g pattern, $t type. What stands in
// brackets is there or not.
constexpr std::array shapes = {
    "SET $k $v",
    "SET $k $v [NX] [GET]",
    "SET $k $i [XX] [PX $p]",
    "SET $k $v [GET] [EX $e] [NX]",
    "SET $k $v [KEEPTTL] [GET]",
    "SET $k $v [PXAT $P] [EXAT $E] [XX]",
    "SETNX $k $v",
    "SETEX $k $e $v",
    "PSETEX $k $p $v",
    "GET $k",
    "GETDEL $k",
    "MGET $k $k [$k]",
    "STRLEN $k",
    "GETRANGE $k $i $i",
    "INCR $k",
    "DECR $k",
    "INCRBY $k $i",
    "DECRBY $k $i",
    "DEL $k [$k]",
    "UNLINK $k $k",
    "EXISTS $k $k [$k]",
    "TYPE $k",
    "EXPIRE $k $e [NX] [XX] [GT] [LT]",
    "PEXPIRE $k $p [GT]",
    "PEXPIRE $k $p [LT]",
    "PEXPIRE $k $p [NX]",
    "EXPIREAT $k $E [XX]",
    "PEXPIREAT $k $P [NX] [GT]",
    "PERSIST $k",
    "HSET $k $f $v [$f $i] [$f]",
    "HMSET $k $f $v $f $i",
    "HSETNX $k $f $v",
    "HGET $k $f",
    "HMGET $k $f $f [$f]",
    "HGETALL $k",
    "HKEYS $k",
    "HVALS $k",
    "HLEN $k",
    "HEXISTS $k $f",
    "HDEL $k $f [$f]",
    "HINCRBY $k $f $i",
    "ZADD $k $s $f",
    "ZADD $k $s $f $s $f [$s $f]",
    "ZADD $k [NX] [XX] [GT] [LT] [CH] [INCR] $s $f",
    "ZADD $k [XX] [CH] $s $f $s $f",
    "ZADD $k [GT] [CH] $s $f [$s] $s $f",
    "ZINCRBY $k $s $f",
    "ZREM $k $f [$f]",
    "ZSCORE $k $f",
    "ZMSCORE $k $f $f",
    "ZCARD $k",
    "ZCOUNT $k $r $r",
    "ZRANK $k $f",
    "ZREVRANK $k $f",
    "ZREMRANGEBYSCORE $k $r $r",
    "ZREMRANGEBYRANK $k $n $n",
    "ZPOPMIN $k [$n]",
    "ZPOPMAX $k [$n]",
    "ZRANGE $k $n $n [WITHSCORES] [REV]",
    "ZRANGE $k $r $r BYSCORE [REV] [WITHSCORES] [LIMIT $n $n]",
    "ZRANGE $k $n $n [LIMIT $n $n] [WITHSCORES]",
    "ZREVRANGE $k $n $n [WITHSCORES]",
    "ZRANGEBYSCORE $k $r $r [WITHSCORES] [LIMIT $n $n]",
    "ZREVRANGEBYSCORE $k $r $r [LIMIT $n $n] [WITHSCORES]",
    "LPUSH $k $v [$v]",
    "RPUSH $k $v [$v]",
    "LPOP $k [$n]",
    "RPOP $k [$n]",
    "LLEN $k",
    "LRANGE $k $n $n",
    "LREM $k $n $v",
    "SADD $k $v [$v]",
    "SREM $k $v [$v]",
    "SCARD $k",
    "SISMEMBER $k $v",
    "PUBLISH $c $v",
    "PING [$v]",
    "DBSIZE",
    "TYPE $k",
};

constexpr std::size_t liked_at_once = 12;  // in a row, as those of one type are

// Not for scripts, or not compared to the letter.
struct special {
  std::string_view shape;
  comparison compared;
};
constexpr std::array specials = {
    special{"TTL $k", comparison::seconds},
    special{"PTTL $k", comparison::milliseconds},
    special{"EXPIRETIME $k", comparison::seconds},
    special{"PEXPIRETIME $k", comparison::milliseconds},
    special{"TIME", comparison::clock},
    special{"SMEMBERS $k", comparison::set},
    special{"SCAN 0 [MATCH $g] [COUNT $n] [TYPE $t]", comparison::scan},
    special{"SCAN $i [COUNT $i] [MATCH] [TYPO $k]", comparison::error},
    special{"FLUSHALL [$v]", comparison::exact},
    special{"FLUSHDB [ASYNC]", comparison::exact},
    special{"SELECT $z", comparison::exact},
    special{"WAIT 0 $i", comparison::exact},
    special{"CLIENT SETNAME $f", comparison::exact},
    special{"CLIENT GETNAME [$v]", comparison::exact},
    special{"CLIENT $f", comparison::exact},
    special{"AUTH $f [$f] [$f]", comparison::exact},
    special{"SCRIPT FLUSH [$v]", comparison::exact},
    special{"SCRIPT LOAD", comparison::exact},
    special{"SCRIPT $f [$v]", comparison::exact},
    special{"NOSUCH $v $v [$v]", comparison::exact},
    special{"SUBSCRIBE $c [$c]", comparison::messages},
    special{"UNSUBSCRIBE $c [$c]", comparison::messages},
};

const std::array keys = {"a"s, "b"s, "c"s, "d{a}"s, "e*"s};
const std::array fields = {"one"s, "two"s, "three"s, ""s, "f\r\n\x01\xff"s};
const std::array channels = {"news"s, "olds"s};
const std::array values = {""s,   "x"s,   "hello world"s, "7"s,  "-12"s, "3.5"s, "9223372036854775807"s,
                           " 4"s, "abc"s, "\0\r\n\xfe"s,  "08"s, "1e3"s, "0"s,   "one"s};
const std::array integers = {
    "1"s,   "2"s,  "-3"s, "10"s, "100"s,  "9223372036854775807"s, "-9223372036854775808"s,
    "0"s,   "-0"s, "+1"s, "01"s, "1.0"s,  "9223372036854775808"s, ""s,
    "ten"s, " 1"s, "1 "s, "5"s,  "-100"s, "99999999999999999999"s};
const std::array scores = {"1"s,
                           "2"s,
                           "2.5"s,
                           "-1"s,
                           "0"s,
                           "1e3"s,
                           "1700000000123"s,
                           "0.1"s,
                           "-inf"s,
                           "+inf"s,
                           "inf"s,
                           "nan"s,
                           "x"s,
                           ""s,
                           "-0"s,
                           "1e17"s,
                           "3"s,
                           "4"s,
                           "1e-5"s,
                           "12345678901234567890"s,
                           "0x10"s};
const std::array range_ends = {"1"s, "2"s, "(1"s, "(2.5"s, "-inf"s, "+inf"s, "(inf"s,
                               "0"s, "3"s, "x"s,  "("s,    "1e3"s,  ""s,     "(-inf"s};
const std::array patterns = {"*"s, "a"s, "[a-c]"s, "?"s, "e\\*"s, "d{*"s, "[^a]*"s, "x*"s, "[b"s};
const std::array types = {"string"s, "hash"s, "zset"s, "list"s, "set"s, "stream"s};
const std::array mishaps = {"0"s, "-1"s, "9223372036854775807"s, "-9223372036854775808"s, "soon"s, "1.5"s};

/// See dataset::never.
std::string before_never(const std::string& time) {
  return time == "9223372036854775807" ? "9223372036854775806" : time;
}

std::string upper_or_lower(std::string name, random_choices& d) {
  if (d.one_in(8)) {
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return name;
}

}  // namespace

raw_steps::raw_steps(random_choices& d) : choices_{d}, first_liked_{d.below(shapes.size())} {}

std::string raw_steps::argument() { return filled(choices_.one_in(2) ? 'v' : 'i'); }

std::string raw_steps::filled(char placeholder, const std::string* home) {
  constexpr std::int64_t unit_s = 10;  // so that no delay of a test decides which of two times is later
  const auto ahead = [&] { return static_cast<std::int64_t>(10 + choices_.below(100'000)) * unit_s; };
  const auto mishap = [&] { return choices_.of(mishaps); };
  switch (placeholder) {
    case 'k': return home != nullptr && !choices_.one_in(4) ? *home : choices_.of(keys);
    case 'v': return choices_.of(values);
    case 'f': return choices_.of(fields);
    case 'i': return choices_.of(integers);
    case 'n':
      return choices_.one_in(20) ? choices_.of(integers)
                                 : std::to_string(static_cast<int>(choices_.below(7)) - 3);
    case 's': return choices_.of(scores);
    case 'r': return choices_.of(range_ends);
    case 'e': return choices_.one_in(6) ? mishap() : std::to_string(ahead());
    case 'p': return choices_.one_in(6) ? mishap() : std::to_string(1000 * ahead());
    case 'E': return choices_.one_in(6) ? mishap() : std::to_string(real_now_us() / 1'000'000 + ahead());
    case 'P':
      return choices_.one_in(6) ? before_never(mishap())
                                : std::to_string(real_now_us() / 1000 + 1000 * ahead());
    case 'g': return choices_.of(patterns);
    case 't': return choices_.of(types);
    case 'c': return choices_.of(channels);
    case 'z': return choices_.one_in(2) ? "0" : "x";
    default: return {};
  }
}

namespace {

/// What stands in brackets is left out half of the times.
std::vector<std::string> parts_of(std::string_view shape, random_choices& d) {
  std::vector<std::string> parts;
  std::istringstream in{std::string{shape}};
  bool out = false;
  bool skip = false;
  for (std::string part; in >> part;) {
    if (part.starts_with('[')) {
      part.erase(0, 1);
      out = true;
      skip = d.one_in(2);
    }
    const bool last = out && part.ends_with(']');
    if (last) part.pop_back();
    if (!skip) parts.push_back(part);
    if (last) out = skip = false;
  }
  return parts;
}

/// Each type has a key, so that most commands find one of theirs. Null: any.
const std::string* home_of(std::string_view shape) {
  const std::string_view name = shape.substr(0, shape.find(' '));
  const auto is_one_of = [&](auto... names) { return ((name == names) || ...); };
  if (name.starts_with('H')) return &keys[1];
  if (name.starts_with('Z')) return &keys[2];
  if (is_one_of("LPUSH", "RPUSH", "LPOP", "RPOP", "LLEN", "LRANGE", "LREM")) return &keys[3];
  if (is_one_of("SADD", "SREM", "SCARD", "SISMEMBER")) return &keys[4];
  if (is_one_of("SETNX", "GET", "STRLEN", "GETRANGE", "INCR", "DECR", "INCRBY", "DECRBY")) return &keys[0];
  if (is_one_of("SET") && shape.find('[') != std::string_view::npos) return &keys[0];
  return nullptr;
}

}  // namespace

strings raw_steps::command() {
  strings made;
  const bool liked = !choices_.one_in(4);
  const std::size_t index =
      liked ? first_liked_ + choices_.below(liked_at_once) : choices_.below(shapes.size());
  const std::string_view shape = shapes.at(index % shapes.size());
  const std::string* const home = home_of(shape);
  for (const std::string& part : parts_of(shape, choices_))
    made.push_back(part.starts_with('$') ? filled(part[1], home) : upper_or_lower(part, choices_));
  if (choices_.one_in(40)) made.pop_back();
  if (made.empty()) made.emplace_back("PING");
  if (choices_.one_in(40)) made.push_back(argument());
  return made;
}

step raw_steps::next() {
  step s;
  s.client = choices_.below(compared_server::clients);
  const std::size_t draw = choices_.below(10);
  if (draw < 5) {
    s.command = command();
  } else if (draw < 7) {
    const special& chosen = choices_.of(specials);
    s.compared = chosen.compared;
    for (const std::string& part : parts_of(chosen.shape, choices_))
      s.command.push_back(part.starts_with('$') ? filled(part[1]) : upper_or_lower(part, choices_));
  } else {
    const std::string text = script_text(choices_, *this);
    const std::string keys_count = choices_.one_in(25) ? filled('i') : "2";
    switch (choices_.below(6)) {
      case 0: s.command = {"SCRIPT", "LOAD", text}; break;
      case 1: s.command = {"SCRIPT", "EXISTS", sha1_hex(text), filled('v')}; break;
      case 2: s.command = {"EVALSHA", sha1_hex(text), keys_count}; break;
      default: s.command = {"EVAL", text, keys_count};
    }
    if (s.command[0] != "SCRIPT") {
      for (const char placeholder : {'k', 'k', 'v', 'i'}) s.command.push_back(filled(placeholder));
      if (choices_.one_in(30)) s.command.pop_back();
    }
  }
  return s;
}

}  // namespace holdfast::sim
