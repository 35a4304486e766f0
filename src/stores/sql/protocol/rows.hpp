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

/// What a database gives back, whichever it is.
using value = std::variant<std::monostate, std::int64_t, std::string>;
using row = std::vector<value>;

/// What stands in a column; zero and empty where it is something else.
[[nodiscard]] std::int64_t number_at(const row& r, std::size_t column);
[[nodiscard]] std::string text_at(const row& r, std::size_t column);

/// A claim's place from four columns, of which this is the first: token, granted, head, holder_left.
[[nodiscard]] tickets::place place_from(const row& r, std::size_t first);
/// What inspect.sql finds.
[[nodiscard]] std::optional<lock_state> state_of(const tickets::request& asked, const std::vector<row>& rows);
/// What list.sql finds.
[[nodiscard]] std::vector<lock_summary> summaries(const std::vector<row>& rows);

/// How the statements of a task went.
struct run {
  std::string_view ended_at;  // the label of the statement that found nothing; empty: all were carried out
  std::vector<row> rows;      // of all its queries but `next` and `tell`
};

/// The statements' results as the reply that the machines understand. For every task but renew, which is a
/// run for each hold.
[[nodiscard]] tickets::reply to_reply(const tickets::request& asked, const run& result);

}  // namespace holdfast::sql
