// SPDX-License-Identifier: Apache-2.0
// The wait of `run` and `elect`, where something besides the claim fails.

#include <csignal>
#include <gtest/gtest.h>
#include <stdexcept>

#include "claim.hpp"
#include "run/run_wait.hpp"
#include "signal_inbox.hpp"
#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

namespace holdfast::test {
namespace {

TEST(run_wait, an_error_beside_the_claim_ends_the_claim) {
  const std::string url = "memory:run_wait";
  client holding{url};
  const auto held = mutex{holding, "x"}.acquire();
  client locks{url};
  cli::claim wish;
  wish.name = "x";
  cli::signal_inbox signals{SIGUSR1};
  ::raise(SIGUSR1);
  const auto fails = [](int) -> bool { throw std::runtime_error{"no memory"}; };
  const auto claims = [&] { EXPECT_THROW(static_cast<void>(cli::acquire(locks, wish)), error); };
  EXPECT_THROW(static_cast<void>(cli::await_call(locks, wish, signals, fails, nullptr, claims)),
               std::runtime_error);
  EXPECT_TRUE(holding.inspect("x").value().waiters.empty());
}

}  // namespace
}  // namespace holdfast::test
