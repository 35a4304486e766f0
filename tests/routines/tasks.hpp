// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/samples.hpp"
#include "routines/routine_caller.hpp"

namespace holdfast::test {

/// One request of each kind about a name, but `list`: as somebody would make them who takes it, waits for it,
/// or has lost track of it. Who took it lets it go.
[[nodiscard]] std::vector<request_form> tasks_about(const std::string& name);

/// The same of several names in one request, in their order.
[[nodiscard]] std::vector<tickets::request> joint_tasks(const std::vector<std::string>& names);

/// The first number of what a routine without parameters answers.
[[nodiscard]] std::int64_t number_in(routine_caller& real, const std::string& routine);

}  // namespace holdfast::test
