// Commands at random, alone and in scripts: of few keys, so that they meet keys of either type, with right
// and wrong arguments.

#include <array>
#include <gtest/gtest.h>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/redis/against_server/compared_servers.hpp"
#include "simulation/redis/against_server/difference.hpp"
#include "simulation/redis/against_server/random_choices.hpp"
#include "simulation/redis/against_server/values.hpp"
#include "support/redis_server.hpp"

namespace holdfast::sim {

/// A command, and which of the two clients sends it.
struct raw_command {
  std::size_t client = 0;
  strings words;
};

static std::string describe(const raw_command& s) {
  std::string text = std::to_string(s.client) + ">";
  for (const std::string& word : s.words) text += ' ' + quoted(word);
  return text;
}

namespace {

using namespace std::string_literals;

// $k key, $v text, $f member, $i integer, $n small number, $s score, $r end of a range of scores, $p a time
// in milliseconds, $c channel. What stands in brackets is there or not.
constexpr std::array shapes = {
    "SET $k $v",
    "SET $k $v [NX]",
    "SET $k $i [XX] [PX $p]",
    "SET $k $v [KEEPTTL] [XX]",
    "GET $k",
    "MGET $k $k [$k]",
    "GETRANGE $k $i $i",
    "DEL $k [$k]",
    "EXISTS $k $k [$k]",
    "TYPE $k",
    "PEXPIRE $k $p",
    "PTTL $k",
    "ZADD $k $s $f",
    "ZADD $k $s $f $s $f",
    "ZADD $k XX $s $f $s $f",
    "ZREM $k $f [$f]",
    "ZSCORE $k $f",
    "ZCARD $k",
    "ZCOUNT $k $r $r",
    "ZREVRANGE $k $n $n",
    "ZRANGEBYSCORE $k $r $r [LIMIT $n $n]",
    "ZREVRANGEBYSCORE $k $r $r [LIMIT $n $n]",
    "PUBLISH $c $v",
};
// RESP3 has members and scores in pairs; scripts have one list, and the model knows that alone.
constexpr std::array shapes_of_scripts = {
    "ZRANGEBYSCORE $k $r $r WITHSCORES [LIMIT $n $n]",
    "ZREVRANGEBYSCORE $k $r $r WITHSCORES [LIMIT $n $n]",
};

/// What a script may return, beside the reply to a command.
const std::array results = {
    "{1, 'two', 3.99, -3.99, {{}, {2}}}"s,
    "{1, nil, 3}"s,
    "{true, false}"s,
    "false"s,
    "{ok = 'FINE'}"s,
    "{err = 'SOME words'}"s,
    "{1, {err = 'INNER words'}, {ok = 'INNER'}}"s,
    "redis.error_reply('SOME words')"s,
    "redis.sha1hex('words')"s,
    "9007199254740993"s,
    "tostring(2^53)"s,
    "string.format('%.0f', 2^62)"s,
    "('k=v'):match('(%w+)=(%w+)')"s,
    "tonumber('12a')"s,
    "'10' + 5"s,
    "unknown_global"s,
    "{pcall(error, {err = 'WHY not'})}"s,
    "{pcall(function() return redis.call('ZCARD', 'a') end)}"s,
    "redis.call('SET', 'a', 12.5)"s,
    "redis.call('TYPE', 'b').ok"s,
    "#redis.call('TIME')"s,
};

const std::array keys = {"a"s, "b"s, "c"s, "d{a}"s};
const std::array members = {"one"s, "two"s, "three"s, ""s, "f\r\n\x01\xff"s};
const std::array channels = {"news"s, "olds"s};
const std::array texts = {""s, "x"s, "hello world"s, "7"s, "-12"s, "3.5"s, "\0\r\n\xfe"s};
const std::array integers = {"1"s, "2"s,   "-3"s,  "10"s, "0"s,    "-0"s, "+1"s, "01"s,
                             ""s,  "ten"s, "1.0"s, "5"s,  "-100"s, " 1"s, "1 "s, "9223372036854775808"s};
const std::array scores = {"1"s,    "2"s,    "2.5"s,  "-1"s,  "0"s,    "1e3"s, "1700000000123"s,
                           "0.1"s,  "-inf"s, "+inf"s, "nan"s, "x"s,    ""s,    "-0"s,
                           "1e17"s, "3"s,    "4"s,    "5"s,   "1e-5"s, "6"s,   "12345678901234567890"s};
const std::array range_ends = {"1"s, "2"s, "(1"s, "(2.5"s, "-inf"s, "+inf"s, "0"s, "3"s, "x"s, "1e3"s, ""s};
const std::array odd_times = {"0"s, "-1"s, "9223372036854775807"s, "soon"s, "1.5"s};

std::string filled(char placeholder, const std::string& home, random_choices& d) {
  switch (placeholder) {
    case 'k': return d.one_in(4) ? d.of(keys) : home;
    case 'v': return d.of(texts);
    case 'f': return d.of(members);
    case 'i': return d.of(integers);
    case 'n': return d.one_in(20) ? d.of(integers) : std::to_string(static_cast<int>(d.below(7)) - 3);
    case 's': return d.of(scores);
    case 'r': return d.of(range_ends);
    case 'p':  // tens of seconds, so that no delay of a test decides which of two times is later
      return d.one_in(6) ? d.of(odd_times) : std::to_string(10'000 * (10 + d.below(100'000)));
    case 'c': return d.of(channels);
    default: return {};
  }
}

/// What stands in brackets is left out half of the times.
strings command_of(std::string_view shape, random_choices& d) {
  const std::string& home = keys.at(shape.starts_with('Z') ? 1 : 0);
  strings made;
  std::istringstream in{std::string{shape}};
  bool is_in_brackets = false;
  bool is_left_out = false;
  for (std::string part; in >> part;) {
    if (part.starts_with('[')) {
      part.erase(0, 1);
      is_in_brackets = true;
      is_left_out = d.one_in(2);
    }
    const bool is_last = is_in_brackets && part.ends_with(']');
    if (is_last) part.pop_back();
    if (!is_left_out) made.push_back(part.starts_with('$') ? filled(part[1], home, d) : part);
    if (is_last) is_in_brackets = is_left_out = false;
  }
  return made;
}

raw_command next_command(random_choices& d) {
  raw_command s{d.below(compared_server::clients), {}};
  const std::size_t draw = d.below(10);
  if (draw < 5) {
    s.words = command_of(d.of(shapes), d);
  } else if (draw < 6) {
    s.words = {"EVAL", "local r = " + d.of(results) + " return r", "0"};
  } else {
    const char* const text = d.one_in(2) ? "local r = redis.call(unpack(ARGV)) return r"
                                         : "local r = redis.pcall(unpack(ARGV)) return {type(r), r}";
    s.words = {"EVAL", text, "0"};
    const std::string_view shape = d.one_in(6) ? d.of(shapes_of_scripts) : d.of(shapes);
    for (const std::string& word : command_of(shape, d)) s.words.push_back(word);
  }
  return s;
}

/// Lets both carry out the commands, from nothing, until they answer differently.
std::optional<difference> compare(const std::string& socket, const std::vector<raw_command>& steps) {
  constexpr std::int64_t slack_ms = 4000;  // of times: less than what those of the commands are apart
  real_server server{socket};
  model_server model;
  server.subscribe(0, channels[0]);
  model.subscribe(0, channels[0]);
  for (std::size_t at = 0; at < steps.size(); ++at) {
    const raw_command& s = steps[at];
    const redis::value a = server.ask(s.client, s.words);
    const redis::value b = model.ask(s.client, s.words);
    const bool is_time = s.words[0] == "PTTL" || (s.words.size() > 3 && s.words[3] == "PTTL");
    if (!same(a, b, is_time ? slack_ms : 0)) return difference{at, describe(a), describe(b)};
    const redis::value pushed_a{redis::value::kind::list, 0, {}, server.take_pushes(0)};
    const redis::value pushed_b{redis::value::kind::list, 0, {}, model.take_pushes(0)};
    if (!same(pushed_a, pushed_b)) return difference{at, describe(pushed_a), describe(pushed_b)};
  }
  return std::nullopt;
}

}  // namespace

TEST(redis_model, answers_commands_as_the_server_does) {
  const test::redis_server server;
  constexpr std::size_t commands_each = 60;
  compare_many(
      1000,
      [&](std::uint64_t seed) {
        random_choices d{seed};
        std::vector<raw_command> steps;
        while (steps.size() < commands_each) steps.push_back(next_command(d));
        return steps;
      },
      [&](std::uint64_t /*seed*/, const std::vector<raw_command>& steps) {
        return compare(server.socket(), steps);
      });
}

}  // namespace holdfast::sim
