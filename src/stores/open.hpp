// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/url.hpp"
#include "core/link.hpp"
#include "holdfast/diagnosis.hpp"
#include "holdfast/options.hpp"
#include "runtime/event_loop.hpp"
#include "stores/doctor/succession.hpp"

namespace holdfast::stores {

/// Opens the store of a URL.
/// \throws holdfast::error.
[[nodiscard]] std::unique_ptr<tickets::link> open(store_url url, const client_options& options,
                                                  runtime::event_loop& on);

/// What a store needs in a database server: tables, and routines.
struct database_schema {
  std::string text;               // statements, for the server's own client to run as they are
  std::function<bool()> provide;  // creates it; false if it was there. \throws holdfast::error
};
/// The schema of the store of a URL.
/// \throws holdfast::error, errc::invalid_argument where the store needs none.
[[nodiscard]] database_schema schema_of(store_url url, const client_options& options);

/// What a resource beside the store of a URL needs to check fencing tokens.
/// \throws holdfast::error, errc::invalid_argument if there is none for such a store.
[[nodiscard]] database_schema fences_of(store_url url, const client_options& options);

/// Whether the store of a URL keeps the conditions of its guarantees, see holdfast::diagnose, and how far its
/// tokens have come.
/// \throws holdfast::error.
[[nodiscard]] doctor::report diagnose(store_url url, const client_options& options);

/// The schemes of this build.
[[nodiscard]] std::vector<std::string_view> known_schemes();

}  // namespace holdfast::stores
