#include "stores/sql/protocol/server_answers.hpp"

#include <charconv>

namespace holdfast::sql {

std::int64_t number_in(std::string_view text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string server_answers::value(std::string_view name) const {
  const auto found = said.find(name);
  return found == said.end() ? std::string{} : found->second;
}

}  // namespace holdfast::sql
