// SPDX-License-Identifier: Apache-2.0
// A wait for the end of a lease that is cancelled: it completes once, whatever comes after that.

#include <gtest/gtest.h>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "base/annotated_mutex.hpp"
#include "holdfast/client.hpp"
#include "holdfast/detail/handle.hpp"
#include "holdfast/error.hpp"
#include "holdfast/mutex.hpp"

namespace holdfast {
namespace {

/// What a completion has received, in order.
struct received {
  annotated::mutex mutex;
  std::vector<std::error_code> codes HOLDFAST_GUARDED_BY(mutex);
};

class noting_completion final : public detail::completion {
 public:
  explicit noting_completion(std::shared_ptr<received> all) : all_{std::move(all)} {}
  void complete(detail::outcome ended) noexcept override {
    const annotated::lock held{all_->mutex};
    all_->codes.push_back(ended.code);
  }

 private:
  std::shared_ptr<received> all_;
};

TEST(cancelled_waits, for_a_loss_complete_once) {
  client locks{"memory:cancelled_waits"};
  auto held = mutex{locks, "stock"}.acquire();
  const auto all = std::make_shared<received>();
  auto wait = detail::async_wait_lost(held, std::make_unique<noting_completion>(all));
  wait.cancel();
  wait.cancel();
  EXPECT_FALSE(held.release());
  wait.cancel();
  locks.close();
  locks = client{"memory:cancelled_waits"};  // the former one has completed all that it had to
  const annotated::lock reading{all->mutex};
  EXPECT_EQ(all->codes, std::vector{make_error_code(errc::cancelled)});
}

TEST(cancelled_waits, for_a_release_complete_once) {
  client locks{"memory:cancelled_waits"};
  const auto all = std::make_shared<received>();
  auto wait =
      detail::async_release(mutex{locks, "stock"}.acquire(), std::make_unique<noting_completion>(all));
  wait.cancel();
  wait.cancel();
  locks.close();
  locks = client{"memory:cancelled_waits"};
  const annotated::lock reading{all->mutex};
  EXPECT_EQ(all->codes.size(), 1U) << "confirmed, or cancelled before that";
}

}  // namespace
}  // namespace holdfast
