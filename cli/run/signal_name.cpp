// SPDX-License-Identifier: Apache-2.0
#include "run/signal_name.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

namespace holdfast::cli {

namespace {

constexpr std::array<std::pair<std::string_view, int>, 7> signals{{{"SIGTERM", SIGTERM},
                                                                   {"SIGINT", SIGINT},
                                                                   {"SIGHUP", SIGHUP},
                                                                   {"SIGQUIT", SIGQUIT},
                                                                   {"SIGUSR1", SIGUSR1},
                                                                   {"SIGUSR2", SIGUSR2},
                                                                   {"SIGALRM", SIGALRM}}};

}  // namespace

std::optional<int> signal_named(std::string_view name) noexcept {
  constexpr std::string_view prefix = "SIG";
  const auto* const found = std::ranges::find_if(signals, [&](const auto& each) {
    return name == each.first || name == each.first.substr(prefix.size());
  });
  return found == signals.end() ? std::nullopt : std::optional{found->second};
}

}  // namespace holdfast::cli
