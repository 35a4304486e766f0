#include "commands/schema.hpp"

#include <fmt/core.h>
#include <string_view>

#include "output/json.hpp"
#include <holdfast/schema.hpp>

namespace holdfast::cli {

namespace {

int print_statements(const store_choice& store) {
  const auto text = schema(url_of(store));
  if (store.json) {
    print_line({{"schema", text}});
  } else {
    fmt::print("{}", text);
  }
  return 0;
}

int apply(const store_choice& store) {
  const auto url = url_of(store);
  const bool made = apply_schema(url, client_options{}.password(password_of(store)));
  if (store.json) {
    print_line({{"store", masked_url(url)}, {"made", made}});
  } else {
    const std::string_view result =
        made ? "made the tables and routines" : "the tables and routines exist already";
    fmt::print("{}: {}\n", masked_url(url), result);
  }
  return 0;
}

}  // namespace

int perform(const schema_command& request) {
  return request.apply ? apply(request.store) : print_statements(request.store);
}

}  // namespace holdfast::cli
