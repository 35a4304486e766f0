// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/protocol/script.hpp"

#include <iterator>

#include "stores/sqlite/protocol/statements.hpp"

namespace holdfast::sql {

std::vector<statement> statements_of(std::string_view file, const naming& names) {
  std::vector<statement> all = statements_of(file);
  for (statement& s : all) s.text = names.fill(s.text);
  return all;
}

std::vector<script> scripts(const naming& names) {
  const auto chained = [&](const std::vector<std::string_view>& files) {
    std::vector<statement> all;
    for (const std::string_view file : files) {
      std::vector<statement> more = statements_of(file, names);
      all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    }
    return all;
  };
  return {
      {"acquire",
       {"name", "owner", "client", "weight", "capacity", "ttl", "metadata", "wait"},
       chained({text::acquire})},
      {"open", {"name", "capacity"}, chained({text::open})},
      {"find", {"name", "owner"}, chained({text::find, text::place})},
      {"look", {"name", "owner", "token", "ttl"}, chained({text::keep, text::place, text::serve})},
      {"renew", {"name", "owner", "token", "ttl"}, chained({text::renew})},
      {"release", {"name", "owner", "token"}, chained({text::drop, text::serve})},
      {"withdraw", {"name", "owner"}, chained({text::find, text::drop, text::serve})},
      {"downgrade", {"name", "owner", "token", "weight"}, chained({text::lower, text::serve})},
      {"annotate", {"name", "owner", "token", "metadata"}, chained({text::annotate})},
      {"evict", {"name", "token", "last"}, chained({text::force_release, text::serve})},
      {"request_release", {"name", "token", "last", "metadata"}, chained({text::request_release})},
      {"inspect_part", {"name", "after", "upto", "most"}, chained({text::inspect})},
      {"list_part", {"idle", "name", "token", "most", "limit"}, chained({text::list})},
      {"sweep", {"keep", "every", "limit"}, chained({text::sweep})},
  };
}

std::vector<statement> fences() { return statements_of(text::fences, fences_in("", '"')); }

std::string fence_script() {
  std::string all = "-- Where resources in this file check fencing tokens.\nBEGIN IMMEDIATE;\n\n";
  for (const statement& each : fences()) all += each.text;
  return all + "\nCOMMIT;\n";
}

bool is_answer(std::string_view label) {
  return label != "tell" && label != "next" && label != "find" && label != "due";
}

}  // namespace holdfast::sql
