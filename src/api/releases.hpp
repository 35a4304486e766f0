// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <system_error>
#include <utility>

#include "api/start.hpp"
#include "holdfast/error.hpp"
#include "lease/lease_record.hpp"

namespace holdfast::detail {

/// The error to report of two: a loss, else the first.
[[nodiscard]] inline std::error_code worse_of(std::error_code before, std::error_code next) {
  return !before || next == errc::lost ? next : before;
}

/// Returns the function that starts the release of leases of one client, for client_core::wait. The requests
/// travel together. The operation ends with a loss, if there is one, else with the first error.
[[nodiscard]] inline auto release_of(client_core& core,
                                     std::span<const lease_core::lease_record_ptr> leases) {
  return [&core, leases](const client_core::engine& with, store::handler<std::error_code> done) {
    struct round {
      store::handler<std::error_code> done;
      std::size_t answers_due = 0;
      std::error_code worst{};
    };
    const auto answers = std::make_shared<round>(round{std::move(done), leases.size()});
    with.leases.together([&] {
      for (const auto& each : leases) {
        core.release(with, each, [answers](std::error_code code) {
          answers->worst = worse_of(answers->worst, code);
          if (--answers->answers_due == 0) answers->done(answers->worst);
        });
      }
    });
  };
}

}  // namespace holdfast::detail
