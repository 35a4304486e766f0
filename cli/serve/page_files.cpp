// SPDX-License-Identifier: Apache-2.0
#include "serve/page_files.hpp"

#include <array>
#include <utility>

namespace holdfast::cli {

namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> content_types{{
    {".html", "text/html; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".svg", "image/svg+xml"},
}};

}  // namespace

std::string_view content_type_of(std::string_view path) {
  for (const auto& [ending, type] : content_types) {
    if (path.ends_with(ending)) return type;
  }
  return "application/octet-stream";
}

}  // namespace holdfast::cli
