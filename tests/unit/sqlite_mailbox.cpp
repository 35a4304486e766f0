// SPDX-License-Identifier: Apache-2.0
// The FIFO of a client of a file, and those who write to it.

#include <atomic>
#include <chrono>
#include <fstream>
#include <future>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "runtime/event_loop.hpp"
#include "stores/sqlite/link/mailbox.hpp"
#include "support/scratch_folder.hpp"
#include "unit/comes_true.hpp"

namespace holdfast::sqlite {
namespace {

using namespace std::chrono_literals;

class sqlite_mailbox : public testing::Test {
 protected:
  sqlite_mailbox() { std::ofstream{file_} << "a database"; }
  ~sqlite_mailbox() override {
    goes_on_ = false;
    box_.close();
  }
  void write_to_it() { box_.send(box_.address(), {{owner_, store::notification_kind::look, {}}}); }

  test::scratch_folder folder_;
  const std::string file_ = folder_.file("locks.db");
  const owner_id owner_ = owner_id::random();
  std::atomic<bool> goes_on_ = true;
  std::atomic<int> read_ = 0;
  runtime::event_loop loop_;
  mailbox box_{loop_, file_, [this](const std::vector<store::notification>&) {
                 ++read_;
                 if (goes_on_) write_to_it();
               }};
};

// Each message that is read is followed by another, as by somebody who writes without a pause.
TEST_F(sqlite_mailbox, that_never_becomes_empty_does_not_hold_up_the_timers) {
  box_.open();
  write_to_it();
  const auto fired = std::make_shared<std::promise<int>>();
  {
    const runtime::core_lock now{loop_};
    loop_.at(loop_.now() + 10ms, [this, fired] { fired->set_value(read_); });
  }
  auto due = fired->get_future();
  ASSERT_EQ(due.wait_for(60s), std::future_status::ready);
  const int before = due.get();
  EXPECT_TRUE(test::comes_true([&] { return read_ >= before + 100; })) << "what is left is not read";
}

}  // namespace
}  // namespace holdfast::sqlite
