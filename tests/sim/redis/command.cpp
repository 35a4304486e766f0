#include "sim/redis/command.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "sim/redis/redis_model.hpp"
#include "sim/redis/sorted_sets.hpp"

namespace holdfast::sim {

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

using index = std::unordered_map<std::string_view, const command*>;

index make_index() {
  index all;
  for (const auto table :
       {key_commands(), string_commands(), hash_commands(), sorted_set_commands(),
        sorted_set_range_commands(), list_and_set_commands(), server_commands(), script_commands()}) {
    for (const command& c : table) all.emplace(c.name, &c);
  }
  return all;
}

}  // namespace

bool call::in_pairs() const { return by.resp3 && !in_script; }

void call::add_text(std::string_view t) {
  redis::value& item = reply.items.emplace_back();
  item.what = redis::value::kind::text;
  item.text = t;
}

void call::add_number(std::int64_t n) {
  redis::value& item = reply.items.emplace_back();
  item.what = redis::value::kind::number;
  item.number = n;
}

const command* find_command(std::string_view name) {
  static const index all = make_index();
  constexpr std::size_t longest = 32;
  if (name.size() > longest) return nullptr;
  char letters[longest];
  std::transform(name.begin(), name.end(), letters, lower);
  const auto found = all.find({letters, name.size()});
  return found == all.end() ? nullptr : found->second;
}

void unknown_subcommand(call& c) {
  std::string group{c[0]};
  std::transform(group.begin(), group.end(), group.begin(),
                 [](char ch) { return ch >= 'a' && ch <= 'z' ? static_cast<char>(ch - ('a' - 'A')) : ch; });
  c.error("ERR unknown subcommand '" + std::string{up_to_nul(c[1].substr(0, 128))} + "'. Try " + group +
          " HELP.");
}

void wrong_number_of_arguments(call& c, std::string_view name) {
  c.error("ERR wrong number of arguments for '" + std::string{name} + "' command");
}

bool is_word(std::string_view word, std::string_view wanted) {
  return word.size() == wanted.size() &&
         std::equal(word.begin(), word.end(), wanted.begin(), [](char a, char b) { return lower(a) == b; });
}

}  // namespace holdfast::sim
