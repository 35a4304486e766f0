// SPDX-License-Identifier: Apache-2.0
#include "serve/route.hpp"

#include <array>
#include <utility>

#include "percent.hpp"

namespace holdfast::cli {

namespace {

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool take_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

/// A slash of a name is escaped in a path, so what follows one is not of the name. A `=` before the name
/// keeps clients from taking the names `.` and `..` for steps in the path, which they do with escaped ones,
/// too.
route route_of_name(endpoint to, std::string_view escaped) {
  take_prefix(escaped, "=");
  if (escaped.empty() || escaped.find('/') != std::string_view::npos) return {};
  auto name = decoded(escaped);
  if (!name) return {.to = endpoint::malformed, .name = {}};
  return {.to = to, .name = *std::move(name)};
}

constexpr std::array<std::pair<std::string_view, endpoint>, 7> fixed_paths{{
    {"/api/status", endpoint::status},
    {"/api/locks", endpoint::locks},
    {"/api/deadlocks", endpoint::deadlocks},
    {"/api/doctor", endpoint::doctor},
    {"/api/events", endpoint::events},
    {"/metrics", endpoint::metrics},
    {"/healthz", endpoint::health},
}};

}  // namespace

route route_of(std::string_view target) {
  const auto question = target.find('?');
  const std::string_view path = target.substr(0, question);
  const std::string_view query = question == std::string_view::npos ? "" : target.substr(question + 1);
  for (const auto& [fixed, to] : fixed_paths) {
    if (path == fixed) return {.to = to, .name = {}, .is_fresh = query == "fresh=1"};
  }
  std::string_view rest = path;
  if (take_prefix(rest, "/api/why/")) return route_of_name(endpoint::chain, rest);
  if (!take_prefix(rest, "/api/locks/")) return {.to = endpoint::page, .name = std::string{path}};
  if (take_suffix(rest, "/timeline")) return route_of_name(endpoint::timeline, rest);
  if (take_suffix(rest, "/ask")) return route_of_name(endpoint::ask, rest);
  if (take_suffix(rest, "/release")) return route_of_name(endpoint::release, rest);
  return route_of_name(endpoint::lock, rest);
}

}  // namespace holdfast::cli
