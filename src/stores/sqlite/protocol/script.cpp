#include "stores/sqlite/protocol/script.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "stores/sqlite/protocol/statements.hpp"

namespace holdfast::sql {

using tickets::task;

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

std::vector<std::string_view> files_of(task kind) {
  switch (kind) {
    case task::acquire: return {text::acquire};
    case task::find: return {text::find, text::place};
    case task::look: return {text::keep, text::place, text::serve};
    case task::renew: return {text::renew};
    case task::release: return {text::drop, text::serve};
    case task::withdraw: return {text::find, text::drop, text::serve};
    case task::downgrade: return {text::lower, text::serve};
    case task::annotate: return {text::annotate};
    case task::request_release: return {text::request_release};
    case task::force_release: return {text::force_release, text::serve};
    case task::inspect: return {text::inspect};
    case task::list: return {text::list};
  }
  return {};
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

std::vector<statement> statements_of(task kind, const tables& names) {
  std::vector<statement> all;
  for (const std::string_view file : files_of(kind)) {
    std::vector<statement> more = statements_of(file, names);
    all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  return all;
}

bool is_answer(std::string_view label) { return label != "tell" && label != "next"; }

}  // namespace holdfast::sql
