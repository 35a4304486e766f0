// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/url.hpp"

namespace holdfast::stores {

/// The option `table` of database servers: `[schema.]name`.
struct table_name {
  std::string schema;  // empty: the one that the server chooses
  std::string name;
};

/// \throws errc::invalid_url unless each part is 1 to 48 letters, digits and underscores, with no digit
/// first.
[[nodiscard]] table_name take_qualified_table(store_url& url);
/// The option `table` where there are no schemas. \throws likewise.
[[nodiscard]] std::string take_table(store_url& url);

}  // namespace holdfast::stores
