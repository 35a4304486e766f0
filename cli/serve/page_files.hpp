// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace holdfast::cli {

/// A file of cli/serve/page/, embedded at build time.
struct page_file {
  std::string_view path;  ///< `/app.js`
  std::string_view content;
};

/// Of a generated source; see cmake/HoldfastPage.cmake.
[[nodiscard]] std::span<const page_file> page_files();

/// By the ending of the path.
[[nodiscard]] std::string_view content_type_of(std::string_view path);

}  // namespace holdfast::cli
