#include <array>
#include <cstdio>

#include "simulation/redis/against_server/raw_steps.hpp"

namespace holdfast::sim {

namespace {

using namespace std::string_literals;

std::string literal(const std::string& bytes) {
  std::string text{"'"};
  for (const char c : bytes) {
    if (c > ' ' && c < 127 && c != '\'' && c != '\\') {
      text.push_back(c);
    } else {
      char code[8];
      std::snprintf(code, sizeof code, "\\%03d", static_cast<unsigned char>(c));
      text.append(code);
    }
  }
  return text + '\'';
}

// Whatever a script may return. Not error({}), by which Redis 7.0.15 crashes.
const std::array constants = {"1"s,
                              "-7"s,
                              "3.99"s,
                              "-3.99"s,
                              "1e15"s,
                              "9007199254740993"s,
                              "1e300"s,
                              "-1e300"s,
                              "0/0"s,
                              "1/0"s,
                              "2^53"s,
                              "'text'"s,
                              "''"s,
                              "'\\0\\r\\n'"s,
                              "true"s,
                              "false"s,
                              "nil"s,
                              "{}"s,
                              "{1, 'two', 3.5}"s,
                              "{1, nil, 3}"s,
                              "{nil}"s,
                              "{false, true}"s,
                              "{{{}}, {1, {2}}}"s,
                              "{ok = 'FINE'}"s,
                              "{err = 'SOME words'}"s,
                              "{err = 'word'}"s,
                              "{err = 5}"s,
                              "{ok = 5}"s,
                              "{ok = {}}"s,
                              "{1, ok = 'FINE'}"s,
                              "{1, {err = 'INNER words'}, {ok = 'INNER'}}"s,
                              "{key = 'lost', 1}"s,
                              "KEYS"s,
                              "ARGV"s,
                              "{KEYS[1], ARGV[1]}"s,
                              "#KEYS"s,
                              "#ARGV"s,
                              "KEYS[3]"s,
                              "tonumber(ARGV[2])"s,
                              "redis.error_reply('MINE own words')"s,
                              "redis.error_reply('word')"s,
                              "redis.error_reply('-DASH word')"s,
                              "redis.error_reply('')"s,
                              "redis.error_reply(1)"s,
                              "redis.error_reply()"s,
                              "redis.status_reply('FINE')"s,
                              "redis.status_reply(1, 2)"s,
                              "redis.status_reply('')"s,
                              "redis.sha1hex('')"s,
                              "redis.sha1hex(ARGV[1])"s,
                              "redis.sha1hex()"s,
                              "redis.sha1hex(12)"s,
                              "redis.LOG_WARNING"s,
                              "redis.pcall()"s,
                              "redis.call()"s,
                              "redis.call('GET')"s,
                              "redis.pcall('NOSUCH', 1)"s,
                              "redis.call('NOSUCH')"s,
                              "redis.pcall('GET', {})"s,
                              "redis.call('GET', nil)"s,
                              "redis.call('SET', KEYS[1], 12.5)"s,
                              "redis.call('INCRBY', KEYS[1], 3)"s,
                              "redis.call('SET', KEYS[1], 2^60)"s,
                              "redis.call('SET', KEYS[1], 1e15)"s,
                              "redis.call('EVAL', 'return 1', 0)"s,
                              "redis.pcall('SUBSCRIBE', 'x')"s,
                              "error('plain words')"s,
                              "error({err = 'TABLE words'})"s,

                              "error()"s,
                              "error('at', 0)"s,
                              "error({err = 5})"s,
                              "unknown_global"s,
                              "unknown_function()"s,
                              "type(unknown)"s,
                              "tostring(12)"s,
                              "tostring(12.5)"s,
                              "tostring(10 / 2)"s,
                              "tostring(2^53)"s,
                              "tostring(nil)"s,
                              "tostring(true)"s,
                              "tonumber('0x10')"s,
                              "tonumber('  12  ')"s,
                              "tonumber('12a')"s,
                              "tonumber('')"s,
                              "tonumber('z', 36)"s,
                              "string.format('%d', 3)"s,
                              "string.format('%.0f', 2^62)"s,
                              "string.format('%s %q', 'a', 'b')"s,
                              "string.format('%05d|%x|%g', 42, 255, 0.5)"s,
                              "('abcdef'):sub(2, -2)"s,
                              "('abc'):upper()"s,
                              "('a b'):find(' ')"s,
                              "{('k=v'):match('(%w+)=(%w+)')}"s,
                              "(('abc'):gsub('b', 'x'))"s,
                              "('x'):rep(3)"s,
                              "#ARGV[1]"s,
                              "{ARGV[1]:byte(1, -1)}"s,
                              "math.floor(3.7)"s,
                              "math.floor(-3.2)"s,
                              "math.max(1, 2.5)"s,
                              "math.huge"s,
                              "7 % 3"s,
                              "-7 % 3"s,
                              "2^10"s,
                              "'10' + 5"s,
                              "'3' * '4'"s,
                              "10 .. ''"s,
                              "1 .. 'x'"s,
                              "(tonumber(ARGV[2]) or 0) + 1"s,
                              "(tonumber(ARGV[2]) or 0) - 1"s,
                              "(tonumber(ARGV[1]) or 0) * 1000"s,
                              "table.concat({1, 2, 'x'}, ',')"s,
                              "{unpack({1, 2, 3})}"s,
                              "{unpack(KEYS)}"s,
                              "select('#', 1, nil)"s,
                              "next({})"s,
                              "type(redis.call)"s,
                              "1 < 2"s,
                              "'a' < 'b'"s,
                              "not nil"s,
                              "nil == false"s,
                              "ARGV[1] == '7'"s,
                              "{pcall(error, 'why')}"s,
                              "{pcall(error, {err = 'WHY not'})}"s,
                              "{pcall(redis.call, 'INCR')}"s,
                              "{pcall(function() return redis.call('GET', KEYS[1]) end)}"s,
                              "{pcall(function() error('deep') end)}"s,
                              "redis.call('PING')"s,
                              "redis.call('TYPE', KEYS[1])"s,
                              "redis.call('SET', KEYS[1], ARGV[1])"s,
                              "redis.call('SET', KEYS[1], ARGV[1], 'NX')"s,
                              "type(redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', 100000))"s,
                              "redis.call('SET', KEYS[1], ARGV[1]).ok"s,
                              "redis.pcall('INCR', KEYS[1]).err"s,
                              "#redis.call('TIME')"s};

// Statements that do not end a script.
const std::array statements = {
    "local t = {} for i = 1, 3 do t[i] = i * i end"s,
    "local n = 0 for _, k in ipairs(KEYS) do n = n + #k end"s,
    "local n = 0 for k, v in pairs({a = 1, b = 2}) do n = n + v end"s,
    "undeclared = 1"s,
    "KEYS[1] = ARGV[1]"s,
    "redis.nothing = 1"s,
    "local function f(x) return x end"s,
    "redis.log(redis.LOG_DEBUG, 'words')"s,
    "if ARGV[1] == 'x' then return 'early' end"s,
    "local x = nil; x.y = 1"s,
    "return nil + 1 )"s,
    "local broken = = 1"s,
    "string.new = 1"s,
};

std::string call_text(raw_steps& commands, bool caught) {
  std::string text = caught ? "redis.pcall(" : "redis.call(";
  const char* comma = "";
  for (const std::string& argument : commands.command()) {
    text.append(comma).append(literal(argument));
    comma = ", ";
  }
  return text + ')';
}

}  // namespace

std::string script_text(random_choices& d, raw_steps& commands) {
  std::string text;
  while (d.one_in(3)) {
    if (d.one_in(3))
      text += call_text(commands, d.one_in(2));
    else
      text += d.of(statements);
    text += d.one_in(2) ? "\n" : "; ";
  }
  switch (d.below(4)) {
    case 0: return text + "return " + call_text(commands, false);
    case 1:
      return text + "local r = " + call_text(commands, true) +
             "\nif type(r) == 'table' and r.err then return 'caught ' .. r.err end return r";
    case 2: return text + "return { type(" + call_text(commands, true) + "), " + d.of(constants) + " }";
    default: return text + "return " + d.of(constants);
  }
}

}  // namespace holdfast::sim
