#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/request.hpp"

namespace holdfast::sql {

/// A value from any of the databases.
using value = std::variant<std::monostate, std::int64_t, std::string>;
using row = std::vector<value>;

/// The value of a column; zero or empty where it has another type.
[[nodiscard]] std::int64_t number_at(const row& r, std::size_t column);
[[nodiscard]] std::string text_at(const row& r, std::size_t column);
[[nodiscard]] fencing_token token_at(const row& r, std::size_t column);
[[nodiscard]] bool is_null(const row& r, std::size_t column);

/// A claim's place from four columns, of which this is the first: token, granted, head, holder_left.
[[nodiscard]] tickets::place place_from(const row& r, std::size_t first);

/// The result of a task's statements.
struct run {
  std::string_view ended_at;  // the label of the statement that found no row; empty: all statements ran
  std::vector<row> rows;      // of all queries except `next` and `tell`
};

/// Returns the statements' results as a reply for the machines. For all tasks except renew, which runs once
/// for each hold.
[[nodiscard]] tickets::reply to_reply(const tickets::request& request, const run& result);

}  // namespace holdfast::sql
