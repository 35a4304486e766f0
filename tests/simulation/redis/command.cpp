#include "simulation/redis/command.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "simulation/redis/redis_model.hpp"
#include "simulation/redis/sorted_sets.hpp"

namespace holdfast::sim {

namespace {

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - ('a' - 'A')) : c; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

/// The commands by their names: a table with open addresses, as scripts ask for a dozen of them in a request,
/// and a general map took a twentieth of the simulator's time.
class index {
 public:
  index() {
    for (const auto table :
         {key_commands(), string_commands(), hash_commands(), sorted_set_commands(),
          sorted_set_range_commands(), list_and_set_commands(), server_commands(), script_commands()}) {
      for (const command& c : table) {
        std::size_t at = place_of(c.name);
        while (places_[at].entry != nullptr) at = next(at);
        places_[at].entry = &c;
        places_[at].capitals.assign(c.name);
        std::transform(c.name.begin(), c.name.end(), places_[at].capitals.begin(), upper);
      }
    }
  }
  [[nodiscard]] const command* find(std::string_view name) const {
    std::size_t at = place_of(name);
    // Scripts write them in capitals.
    while (places_[at].entry != nullptr && name != places_[at].capitals &&
           !is_keyword(name, places_[at].entry->name)) {
      at = next(at);
    }
    return places_[at].entry;
  }

 private:
  static constexpr std::size_t size = 1024;  // many times what there is

  static std::size_t next(std::size_t at) { return (at + 1) % size; }
  static std::size_t place_of(std::string_view name) {
    if (name.empty()) return 0;
    constexpr unsigned case_bit = 0x20;  // of a letter; what differs in nothing else has to fall on one place
    const auto letter = [&](std::size_t at) { return static_cast<unsigned char>(name[at]) | case_bit; };
    return (name.size() * 131 + letter(0) * 31 + letter(name.size() / 2) * 17 + letter(name.size() - 1)) %
           size;
  }

  struct place {
    const command* entry = nullptr;
    std::string capitals;
  };
  std::array<place, size> places_;
};

}  // namespace

bool call::in_pairs() const { return by.resp3 && !in_script; }

void call::add_text(std::string_view t) {
  redis::value& item = reply.items.emplace_back();
  item.type = redis::value::kind::text;
  item.text = t;
}

void call::add_number(std::int64_t n) {
  redis::value& item = reply.items.emplace_back();
  item.type = redis::value::kind::number;
  item.number = n;
}

const command* find_command(std::string_view name) {
  static const index all;
  return all.find(name);
}

void unknown_subcommand(call& c) {
  std::string group{c[0]};
  std::transform(group.begin(), group.end(), group.begin(), upper);
  c.error("ERR unknown subcommand '" + std::string{up_to_nul(c[1].substr(0, 128))} + "'. Try " + group +
          " HELP.");
}

void wrong_number_of_arguments(call& c, std::string_view name) {
  c.error("ERR wrong number of arguments for '" + std::string{name} + "' command");
}

bool is_keyword(std::string_view argument, std::string_view wanted) {
  return argument.size() == wanted.size() && std::equal(argument.begin(), argument.end(), wanted.begin(),
                                                        [](char a, char b) { return lower(a) == b; });
}

}  // namespace holdfast::sim
