// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>

#include "faults/faults.hpp"

namespace holdfast::faults {

/// A password that is replaced while a client lives: in the place that the client asks, then at the server,
/// which ends all connections. The lease must live on.
/// \param rotate gives the server this password, and ends the connections.
inline void expect_rotation(const std::string& url, const std::string& first,
                            const std::function<void(const std::string& second)>& rotate) {
  std::mutex own;
  std::string now = first;
  const auto current = [&] {
    const std::lock_guard lock{own};
    if (now.empty()) throw std::runtime_error{"the vault is sealed"};
    return now;
  };
  const auto replace = [&](const std::string& with) {
    const std::lock_guard lock{own};
    now = with;
  };
  client locks{url, client_options{}.password(current)};
  const lease held = mutex{locks, "rotation"}.acquire();
  replace("second");
  rotate("second");
  EXPECT_EQ(failure_of([&] { mutex{locks, "other", patient()}.lock(); }).text, "it did not fail");
  EXPECT_TRUE(held.held());

  replace("");
  const auto sealed = failure_of([&] {
    client newcomer{url, client_options{}.password(current)};
    mutex{newcomer, "other", hasty()}.lock();
  });
  EXPECT_EQ(sealed.code, errc::unavailable);
  EXPECT_THAT(sealed.text, testing::HasSubstr("no password for the login: the vault is sealed"));
}

}  // namespace holdfast::faults
