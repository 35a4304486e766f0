// SPDX-License-Identifier: Apache-2.0
// A reader whose only connection breaks, and is connected again while it reads.

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "core/caller.hpp"
#include "runtime/connection_reader.hpp"
#include "runtime/event_loop.hpp"
#include "unit/line_server.hpp"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

/// A connection that breaks the first time that it is asked what it waits for, and serves a caller once it
/// has been connected again.
class breaks_once final : public runtime::readable_connection {
 public:
  breaks_once(runtime::connection_reader& reader, store::caller& caller) : reader_{reader}, caller_{caller} {}

  void connect() noexcept override {
    connected_ = true;
    ++connects_;
  }
  void stop_connecting() override {}
  [[nodiscard]] bool is_connected() const override { return connected_; }
  void prepare() noexcept override {
    if (connects_ == 2) caller_.serve();
  }
  [[nodiscard]] interest check() noexcept override {
    if (connects_ != 1 || std::this_thread::get_id() != blocked) return {};
    connected_ = false;
    reader_.on_disconnected(*this);
    // The background thread connects before the thread that reads goes on.
    while (connects_ == 1) std::this_thread::yield();
    for (const auto end = std::chrono::steady_clock::now() + 20ms; std::chrono::steady_clock::now() < end;) {
    }
    return {};
  }
  void read(short /*ready*/) noexcept override {}

  std::atomic<std::thread::id> blocked;  // the caller's thread: it breaks only while that one reads

 private:
  runtime::connection_reader& reader_;
  store::caller& caller_;
  std::atomic<bool> connected_ = false;
  std::atomic<int> connects_ = 0;
};

TEST(connection_reader_reconnecting, goes_on_with_a_connection_that_was_made_anew_before_it_looked) {
  runtime::connection_reader reader;
  store::caller caller;
  breaks_once connection{reader, caller};
  reader.add(connection);
  // A caller that comes before there is a connection leaves the reading to the background.
  while (!reader.is_reading()) std::this_thread::yield();
  auto served = std::async(std::launch::async, [&] {
    connection.blocked = std::this_thread::get_id();
    reader.serve(caller);
  });
  EXPECT_EQ(served.wait_for(30s), std::future_status::ready) << "it waits for nothing";
  caller.serve();
  reader.interrupt();
  served.wait();
  reader.remove(connection);
}

// The background rests while callers read. The connection that they read is closed, and the next one comes
// later than the call to one of them to read.
TEST(connection_reader_reconnecting, reads_a_new_connection_where_callers_wait_for_it_already) {
  runtime::event_loop loop;
  runtime::connection_reader reader;
  line_server former_server;
  line_server server;
  server.shut();
  line_node former{loop, reader, former_server};
  ASSERT_TRUE(std::holds_alternative<std::string>(former.ask("a")));
  former_server.mute(true);
  const auto callers = std::to_array({std::make_shared<store::caller>(), std::make_shared<store::caller>()});
  std::vector<std::future<void>> blocked;
  for (const auto& each : callers)
    blocked.push_back(std::async(std::launch::async, [&, each] { former.connection().help(*each); }));
  line_node node{loop, reader, server};
  for (const auto& each : callers) node.send("b", [each](const line_outcome&) { each->serve(); });
  // Nothing shows from outside that the background rests, and that a caller was called in vain. Where that
  // takes longer than these pauses, the fault is not met, and nothing fails.
  std::this_thread::sleep_for(20ms);
  former.connection().close({{errc::unavailable, "removed"}});
  std::this_thread::sleep_for(20ms);
  server.open();
  for (auto& each : blocked) EXPECT_EQ(each.wait_for(30s), std::future_status::ready) << "nobody reads";
  for (const auto& each : callers) each->serve();
  reader.interrupt();
}

}  // namespace
}  // namespace holdfast::test
