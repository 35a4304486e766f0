// SPDX-License-Identifier: Apache-2.0
#include "commands/schema.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string>
#include <string_view>

#include "output/elapsed_line.hpp"
#include "output/json.hpp"
#include "output/text.hpp"
#include <holdfast/schema.hpp>

namespace holdfast::cli {

namespace {

std::string_view objects(bool fences) { return fences ? "fences" : "tables and routines"; }

int print_statements(const store_choice& store, bool fences) {
  const auto url = url_of(store);
  const auto text = fences ? fence_schema(url) : schema(url);
  if (store.json) {
    print_line({{"schema", text}});
  } else {
    fmt::print("{}", text);
  }
  return 0;
}

/// Whether the URL names roles that get rights. They have them even where nothing had to be made.
bool grants_rights(std::string_view url) {
  const std::string_view options = url.substr(std::min(url.find('?'), url.size()));
  return std::ranges::any_of(std::array{"?grant_lock=", "&grant_lock=", "?grant_look=", "&grant_look="},
                             [&](const char* each) { return options.find(each) != std::string_view::npos; });
}

bool applied(const std::string& url, const client_options& options, bool fences) {
  const elapsed_line shown{fmt::format("making the {} of {}", objects(fences), printable(masked_url(url)))};
  return fences ? apply_fence_schema(url, options) : apply_schema(url, options);
}

int apply(const store_choice& store, bool fences) {
  const auto url = url_of(store);
  const bool made = applied(url, client_options{}.password(password_of(store)), fences);
  if (store.json) {
    print_line({{"store", masked_url(url)}, {"made", made}});
  } else {
    const std::string_view subject = objects(fences);
    const std::string result =
        made ? fmt::format("made the {}", subject)
             : fmt::format("the {} exist already{}", subject,
                           grants_rights(url) ? ", and the rights that the URL names are granted" : "");
    fmt::print("{}: {}\n", masked_url(url), result);
  }
  return 0;
}

}  // namespace

int perform(const schema_command& request) {
  return request.apply ? apply(request.store, request.fences)
                       : print_statements(request.store, request.fences);
}

}  // namespace holdfast::cli
