#include "stores/redis/protocol/script_call.hpp"

#include <array>
#include <charconv>

#include "stores/redis/protocol/keys.hpp"
#include "stores/redis/protocol/resp.hpp"

namespace holdfast::redis {

namespace {

constexpr std::size_t keys_of_a_name = 4;

}  // namespace

void append_number(std::string& out, std::int64_t n) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), n).ptr;
  append_bulk_string(out, {digits.data(), static_cast<std::size_t>(end - digits.data())});
}

void begin_call(std::string& out, const script& s, bool in_full, std::size_t names, std::size_t arguments) {
  const std::size_t key_count = keys_of_a_name * names;
  append_command(out, 3 + key_count + arguments);
  append_bulk_string(out, in_full ? "EVAL" : "EVALSHA");
  append_bulk_string(out, in_full ? s.text : s.sha1);
  append_number(out, static_cast<std::int64_t>(key_count));
}

void append_keys(std::string& out, std::string_view prefix, std::string_view name) {
  std::string lock;
  lock.reserve(prefix.size() + name.size());
  lock.append(prefix).append(name);
  append_bulk_string(out, lock);
  const std::string stem = side_key_stem(lock);
  for (const std::string_view last : {"fence", "waiters", "holders"}) append_bulk_string(out, stem, last);
}

}  // namespace holdfast::redis
