// SPDX-License-Identifier: Apache-2.0
// Commands at random, alone and in scripts: of few keys, so that they meet keys of either type, with right
// and wrong arguments.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <gtest/gtest.h>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simulation/redis/against_server/random_choices.hpp"
#include "simulation/redis/against_server/values.hpp"
#include "simulation/redis/against_server/wire.hpp"
#include "simulation/redis/redis_model.hpp"
#include "simulation/redis/sha1.hpp"
#include "support/redis_server.hpp"

namespace holdfast::sim {

namespace {

using namespace std::string_literals;

// $k key, $v text, $f member, $i integer, $n small number, $s score, $r end of a range of scores, $p a time
// in milliseconds, $c channel, $g pattern, $t type. What stands in brackets is there or not.
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
    "SCAN 0 COUNT 1000 [MATCH $g] [TYPE $t]",
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
const std::array patterns = {"*"s, "a*"s, "*}"s, "d{*"s, "\\a"s, "\\x*"s, "a"s};
const std::array types = {"string"s, "zset"s};
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
    case 'g': return d.of(patterns);
    case 't': return d.of(types);
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

strings next_command(random_choices& d) {
  const std::size_t draw = d.below(10);
  if (draw < 5) return command_of(d.of(shapes), d);
  if (draw < 6) return {"EVAL", "local r = " + d.of(results) + " return r", "0"};
  const std::string text = d.one_in(2) ? "local r = redis.call(unpack(ARGV)) return r"
                                       : "local r = redis.pcall(unpack(ARGV)) return {type(r), r}";
  strings made = d.one_in(2) ? strings{"EVAL", text, "0"} : strings{"EVALSHA", sha1_hex(text), "0"};
  for (const std::string& word : command_of(d.one_in(6) ? d.of(shapes_of_scripts) : d.of(shapes), d))
    made.push_back(word);
  return made;
}

/// Those of SCAN come in no order: a list whose second item is one, maybe in a script's list.
void sort_keys(redis::value& reply) {
  for (redis::value& item : reply.items) sort_keys(item);
  if (reply.items.size() == 2 && reply.items[1].is(redis::value::kind::list)) sort_items(reply.items[1]);
}

std::int64_t real_now_us() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

struct difference {
  std::size_t at;  // how many commands went well before
  std::string of_server;
  std::string of_model;
};

/// Lets both carry out the commands, from nothing, until they answer differently, or tell a client that has
/// subscribed something else.
std::optional<difference> compare(const std::string& socket, const std::vector<strings>& commands) {
  constexpr std::int64_t slack_ms = 4000;  // of times: less than what those of the commands are apart
  wire server{socket};
  for (const strings& command : {strings{"HELLO", "3"}, {"FLUSHALL"}, {"SCRIPT", "FLUSH"}})
    static_cast<void>(server.ask(command));
  server.say(bytes_of({"SUBSCRIBE", channels[0]}));
  static_cast<void>(server.take_pushes());

  redis::value pushed_by_model{redis::value::kind::list, 0, {}, {}};
  redis_model model{real_now_us, [&](std::uint64_t /*to*/, const redis::value& push) {
                      pushed_by_model.items.push_back(push);
                    }};
  connection client = model.connect();
  static_cast<void>(model.execute({"SUBSCRIBE", channels[0]}, client));
  for (std::size_t at = 0; at < commands.size(); ++at) {
    redis::value a = server.ask(commands[at]);
    redis::value b = model.execute(commands[at], client);
    sort_keys(a);
    sort_keys(b);
    const bool is_time = std::ranges::find(commands[at], "PTTL") != commands[at].end();
    if (!same(a, b, is_time ? slack_ms : 0)) return difference{at, describe(a), describe(b)};
    const redis::value pushed{redis::value::kind::list, 0, {}, server.take_pushes()};
    if (!same(pushed, pushed_by_model)) return difference{at, describe(pushed), describe(pushed_by_model)};
    pushed_by_model.items.clear();
  }
  return std::nullopt;
}

/// What to print of commands that make a difference: as few of them as still make one. Empty where they make
/// none a second time: a machine that stalls for longer than the slack makes one once.
std::string report(const std::string& socket, std::vector<strings> commands) {
  auto last = compare(socket, commands);
  if (!last) return {};
  commands.resize(last->at + 1);
  for (std::size_t i = commands.size(); i-- > 0;) {
    std::vector<strings> fewer = commands;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    auto found = compare(socket, fewer);
    if (!found) continue;
    fewer.resize(found->at + 1);
    commands = std::move(fewer);
    last = std::move(found);
    i = std::min(i, commands.size());
  }
  std::string text;
  for (const strings& command : commands) {
    for (const std::string& word : command) text += ' ' + quoted(word);
    text += '\n';
  }
  return text + "server: " + last->of_server + "\nmodel:  " + last->of_model;
}

}  // namespace

/// HOLDFAST_SEQUENCES is for a longer look than CI's.
TEST(redis_model, answers_commands_as_the_server_does) {
  const test::redis_server server;
  constexpr std::size_t commands_each = 60;
  const char* const wanted = std::getenv("HOLDFAST_SEQUENCES");
  const std::uint64_t sequences = wanted == nullptr ? 1000 : std::strtoull(wanted, nullptr, 10);
  int found = 0;
  constexpr int few = 20;  // as many differences are worth a look at once
  for (std::uint64_t seed = 1; seed <= sequences && found < few; ++seed) {
    random_choices d{seed};
    std::vector<strings> commands;
    while (commands.size() < commands_each) commands.push_back(next_command(d));
    if (!compare(server.socket(), commands)) continue;
    const std::string text = report(server.socket(), commands);
    if (text.empty()) continue;
    ADD_FAILURE() << "seed " << seed << '\n' << text;
    ++found;
  }
}

}  // namespace holdfast::sim
