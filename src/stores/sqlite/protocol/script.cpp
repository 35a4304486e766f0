#include "stores/sqlite/protocol/script.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <variant>

#include "stores/sqlite/protocol/statements.hpp"

namespace holdfast::sql {

namespace {

/// The label of a line such as `-- bury?`; empty for any other line, comments of several words included.
std::string_view label_in(std::string_view line) {
  constexpr std::string_view mark = "-- ";
  if (!line.starts_with(mark)) return {};
  line.remove_prefix(mark.size());
  const std::string_view label = line.substr(0, line.ends_with('?') ? line.size() - 1 : line.size());
  const bool plain =
      !label.empty() && std::all_of(label.begin(), label.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  return plain ? line : std::string_view{};
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

using files = std::vector<std::string_view>;

/// The files of each request.
struct filed {
  files operator()(const tickets::acquire& /*r*/) const { return {text::acquire}; }
  files operator()(const tickets::find& /*r*/) const { return {text::find, text::place}; }
  files operator()(const tickets::look& /*r*/) const { return {text::keep, text::place, text::serve}; }
  files operator()(const tickets::renew& /*r*/) const { return {text::renew}; }
  files operator()(const tickets::release& /*r*/) const { return {text::drop, text::serve}; }
  files operator()(const tickets::withdraw& /*r*/) const { return {text::find, text::drop, text::serve}; }
  files operator()(const tickets::downgrade& /*r*/) const { return {text::lower, text::serve}; }
  files operator()(const tickets::annotate& /*r*/) const { return {text::annotate}; }
  files operator()(const tickets::request_release& /*r*/) const { return {text::request_release}; }
  files operator()(const tickets::force_release& /*r*/) const { return {text::force_release, text::serve}; }
  files operator()(const tickets::inspect& /*r*/) const { return {text::inspect}; }
  files operator()(const tickets::list& /*r*/) const { return {text::list}; }
};

template <std::size_t... Kinds>
std::vector<std::vector<statement>> statements_of_kinds(const tables& names,
                                                        std::index_sequence<Kinds...> /*all*/) {
  return {statements_of(std::variant_alternative_t<Kinds, tickets::request>{}, names)...};
}

}  // namespace

tables tables::named(const std::string& locks) { return {locks, locks + "_claims", locks + "_sweeps"}; }

std::vector<statement> statements_of(std::string_view file, const tables& names) {
  std::vector<statement> all;
  while (!file.empty()) {
    const std::string_view line = file.substr(0, file.find('\n'));
    file.remove_prefix(std::min(line.size() + 1, file.size()));
    if (const std::string_view label = label_in(line); !label.empty()) {
      const bool optional = label.ends_with('?');
      all.push_back({std::string{label.substr(0, label.size() - (optional ? 1 : 0))}, optional, {}});
    } else if (!all.empty()) {
      all.back().text.append(line).append("\n");
    }
  }
  for (statement& s : all) {
    replace_all(s.text, "{locks}", names.locks);
    replace_all(s.text, "{claims}", names.claims);
    replace_all(s.text, "{sweeps}", names.sweeps);
  }
  return all;
}

std::vector<statement> statements_of(const tickets::request& kind, const tables& names) {
  std::vector<statement> all;
  for (const std::string_view file : std::visit(filed{}, kind)) {
    std::vector<statement> more = statements_of(file, names);
    all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  return all;
}

std::vector<std::vector<statement>> statements_of_all_kinds(const tables& names) {
  return statements_of_kinds(names, std::make_index_sequence<std::variant_size_v<tickets::request>>{});
}

bool is_answer(std::string_view label) { return label != "tell" && label != "next"; }

}  // namespace holdfast::sql
