#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "protocol/tickets/request.hpp"

namespace holdfast::sql {

/// What a database gives back, whichever it is.
using value = std::variant<std::monostate, std::int64_t, std::string>;
using row = std::vector<value>;

/// How the statements of a task went.
struct run {
  std::string_view ended_at;  // the label of the statement that found nothing; empty: all were carried out
  std::vector<row> rows;      // of all its queries but `next` and `tell`
};

/// The statements' results as the reply that the machines understand. For every task but renew, which is a
/// run for each hold.
[[nodiscard]] tickets::reply to_reply(const tickets::request& asked, const run& result);

}  // namespace holdfast::sql
