// A reader whose only connection breaks, and is connected again while it reads.

#include <atomic>
#include <chrono>
#include <future>
#include <gtest/gtest.h>
#include <thread>

#include "core/caller.hpp"
#include "runtime/connection_reader.hpp"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

/// A connection that breaks the first time that it is asked what it waits for, and serves a caller once it
/// has been connected again.
class breaks_once final : public runtime::readable_connection {
 public:
  breaks_once(runtime::connection_reader& reader, store::caller& caller) : reader_{reader}, caller_{caller} {}

  void connect() override {
    connected_ = true;
    ++connects_;
  }
  void stop_connecting() override {}
  [[nodiscard]] bool is_connected() const override { return connected_; }
  void prepare() override {
    if (connects_ == 2) caller_.serve();
  }
  [[nodiscard]] interest check() override {
    if (connects_ != 1 || std::this_thread::get_id() != blocked) return {};
    connected_ = false;
    reader_.on_disconnected(*this);
    // The background thread connects before the thread that reads goes on.
    while (connects_ == 1) std::this_thread::yield();
    for (const auto end = std::chrono::steady_clock::now() + 20ms; std::chrono::steady_clock::now() < end;) {
    }
    return {};
  }
  void read(short /*ready*/) override {}

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

}  // namespace
}  // namespace holdfast::test
