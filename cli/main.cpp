// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <exception>
#include <fmt/format.h>
#include <string>
#include <system_error>
#include <variant>
#include <vector>

#include "command_line.hpp"
#include "failure.hpp"
#include "output/terminal.hpp"
#include <holdfast/error.hpp>

namespace holdfast::cli {

namespace {

int perform(const print_command& request) {
  fmt::print("{}", request.text);
  return success;
}

/// A result that could not be written is no success: the disk may be full.
int flushed(int status) {
  flush_output();
  return status;
}

/// A user without a home, such as a daemon's, gets an error about a default store that was not chosen.
failure with_store_advice(const error& cause, const store_choice& store) {
  const auto plain = to_failure(cause);
  const bool about_store = plain.status() == store_unavailable || plain.status() == permission_denied;
  if (!about_store || !is_default(store)) return plain;
  return {plain.status(), fmt::format("{}. This is the default store, a file of this user. --store or "
                                      "HOLDFAST_STORE names another store",
                                      plain.what())};
}

template <class Command>
int carry_out(const Command& request) {
  if constexpr (requires { request.store; }) {
    try {
      return perform(request);
    } catch (const error& cause) {
      throw with_store_advice(cause, request.store);
    }
  } else {
    return perform(request);
  }
}

int carry_out(const std::vector<std::string>& arguments) {
  const auto command = parse_command_line(arguments);
  return flushed(std::visit([](const auto& request) { return carry_out(request); }, command));
}

int guarded_main(const std::vector<std::string>& arguments) {
  const bool json = asks_for_json(arguments);
  const auto fail = [json](const failure& problem) {
    report(problem, json);
    return static_cast<int>(problem.status());
  };
  try {
    return carry_out(arguments);
  } catch (const failure& known) {
    return fail(known);
  } catch (const std::system_error& cause) {
    return fail(to_failure(cause));
  } catch (const std::exception& bug) {
    return fail({internal_error, fmt::format("internal error: {}. Please report it", bug.what())});
  }
}

}  // namespace

}  // namespace holdfast::cli

int main(int argc, char** argv) {
  holdfast::cli::occupy_standard_descriptors();
  return holdfast::cli::guarded_main({argv + 1, argv + std::max(argc, 1)});
}
