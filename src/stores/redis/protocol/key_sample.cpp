#include "stores/redis/protocol/key_sample.hpp"

#include <algorithm>
#include <array>

#include "stores/redis/protocol/keys.hpp"

namespace holdfast::redis {

namespace {

constexpr auto words_of_today = std::to_array<std::string_view>({"fence", "waiters", "holders"});
constexpr auto words_of_a_store = std::to_array<std::string_view>({"guard", "quorum"});
constexpr auto older_words = std::to_array<std::string_view>({"queue", "claims", "expiries"});

bool is_one_of(std::string_view word, const auto& words) {
  return std::ranges::find(words, word) != words.end();
}

/// Of an exclusive holder, or of readers and permits: see the layout in docs/stores/redis.md.
bool is_claim(std::string_view value) {
  constexpr std::size_t digits = 20;
  if (value.starts_with("holdfast:shared ")) return true;
  return value.size() > digits && value[digits] == ' ' &&
         value.substr(0, digits).find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

const char* const key_question =
    "local held = redis.call('GET', KEYS[1]) "
    "return {held and held:sub(1, 32) or '', redis.call('PTTL', KEYS[2])}";

std::string key_sample::name_of(const entry& fence, std::string_view prefix) {
  const auto lock = lock_of_side_key(fence.key);
  return lock ? lock->substr(std::min(prefix.size(), lock->size())) : std::string{};
}

key_sample::kind kind_of(std::string_view key, std::string_view prefix) {
  using kind = key_sample::kind;
  const std::size_t separator = key.rfind('\x1f');
  if (separator == std::string_view::npos) return kind::none;
  const std::string_view word = key.substr(separator + 1);
  const auto lock = lock_of_side_key(key);
  if (!lock || !lock->starts_with(prefix)) return kind::none;
  if (lock->size() == prefix.size() && is_one_of(word, words_of_a_store)) return kind::none;
  if (lock->size() == prefix.size()) return kind::foreign;
  if (word == words_of_today.front()) return kind::fence;
  if (is_one_of(word, words_of_today)) return kind::none;
  // The marker of a guard whose prefix is longer.
  if (is_one_of(word, words_of_a_store)) return kind::none;
  return is_one_of(word, older_words) ? kind::older : kind::foreign;
}

std::string side_key_pattern(std::string_view prefix) { return "*" + literally(prefix) + "*\x1f*"; }

void hear_key(const value& reply, key_sample::entry& of) {
  of.left_ms = -2;
  if (!reply.is(value::kind::list) || reply.items.size() != 2 || !reply.items[1].is(value::kind::number))
    return;
  of.left_ms = reply.items[1].number;
  of.is_held = is_claim(reply.items[0].text);
}

}  // namespace holdfast::redis
