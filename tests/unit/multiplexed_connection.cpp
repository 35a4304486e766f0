// SPDX-License-Identifier: Apache-2.0
#include "runtime/multiplexed_connection.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <gmock/gmock.h>
#include <memory>
#include <optional>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/event_loop.hpp"
#include "runtime/request_pipeline.hpp"
#include "runtime/wakeup_fd.hpp"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using outcome = std::variant<std::string, store::request_error>;

/// A request that is answered with itself.
struct echo_request final : runtime::pending_request<outcome> {
  std::string text;
};

/// A connection to nowhere: what is put on it can be read at once. Throws where the request says so.
class echo_wire {
 public:
  using request = echo_request;

  /// \param ping_every after so long it needs another ping.
  /// \param log what is put on it, and "|" for each time that it is read.
  echo_wire(std::chrono::steady_clock::duration ping_every, std::string& log)
      : ping_every_{ping_every}, log_{log} {}

  [[nodiscard]] int descriptor() const { return ready_.descriptor(); }
  [[nodiscard]] short events() const { return POLLIN; }
  [[nodiscard]] std::size_t depth() const { return is_pinged_ || needs_ping() ? 0 : 1024; }
  [[nodiscard]] bool needs_ping() const {
    return std::chrono::steady_clock::now() - pinged_at_ >= ping_every_;
  }
  [[nodiscard]] std::optional<runtime::connection_error> retirement() const { return std::nullopt; }
  void put(const echo_request& r) {
    if (r.text == "not sent") throw runtime::connection_error{{errc::unavailable, "not sent"}};
    ready_.ring();
    log_ += r.text;
    if (r.text != "ping") return;
    is_pinged_ = true;
    pinged_at_ = std::chrono::steady_clock::now();
  }
  void write_out() {}
  void drain() {
    ready_.drain();
    log_ += "|";
    is_pinged_ = false;
  }

 private:
  std::chrono::steady_clock::duration ping_every_;
  std::chrono::steady_clock::time_point pinged_at_ = std::chrono::steady_clock::now();
  std::string& log_;
  bool is_pinged_ = false;
  runtime::wakeup_fd ready_;
};

class echo final : runtime::multiplexed_connection<echo_wire>::protocol {
 public:
  /// \param open until when there is nobody to connect to.
  /// \param ping_every of its wires.
  echo(runtime::event_loop& on, std::shared_future<void> open,
       std::chrono::steady_clock::duration ping_every = std::chrono::steady_clock::duration::max())
      : loop_{on}, open_{std::move(open)}, ping_every_{ping_every} {
    connection_.start();
  }
  ~echo() { shut(); }
  echo(const echo&) = delete;
  echo& operator=(const echo&) = delete;

  void send(std::string text, std::function<void(outcome)> handler) {
    auto r = std::make_unique<echo_request>();
    r->text = std::move(text);
    r->handler = std::move(handler);
    connection_.push(std::move(r), true);
  }
  void kick() { connection_.kick(); }
  void help(store::caller& blocked) { connection_.help(blocked); }
  [[nodiscard]] bool is_awaited() const { return reader_.is_awaited(); }
  void shut() {
    connection_.stop();
    reader_.stop();
  }
  /// After all requests have been answered.
  [[nodiscard]] const std::string& log() const { return log_; }

 private:
  [[nodiscard]] std::unique_ptr<echo_wire> connect(int /*stop*/) override {
    open_.wait();
    return std::make_unique<echo_wire>(ping_every_, log_);
  }
  [[nodiscard]] std::unique_ptr<echo_request> ping() const override {
    auto r = std::make_unique<echo_request>();
    r->text = "ping";
    return r;
  }
  void on_connected() override {}
  void read(short /*ready*/) override {
    {
      auto line = connection_.lock();
      line->drain();
      line.heard();
      while (line.first_in_flight() != nullptr) line.finish_first();
    }
    for (const auto& each : connection_.completed()) {
      if (each->text == "not understood") throw std::runtime_error{"not understood"};
      if (each->text != "forgotten") each->outcome = each->text;
    }
    {
      const runtime::core_lock now{loop_, true};
      connection_.run_handlers();
    }
    connection_.forget_completed();
  }

  runtime::event_loop& loop_;
  std::shared_future<void> open_;
  const std::chrono::steady_clock::duration ping_every_;
  std::string log_;
  runtime::connection_reader reader_;
  runtime::multiplexed_connection<echo_wire> connection_{loop_, reader_, *this, {"nowhere", 10s, 10s}};
};

/// All of them are there when the line connects, and go together.
std::vector<outcome> ask(const std::vector<std::string>& requests) {
  std::vector<std::promise<outcome>> outcomes(requests.size());
  std::promise<void> open;
  runtime::event_loop event_loop;
  echo line{event_loop, open.get_future().share()};
  {
    const runtime::core_lock now{event_loop};
    for (std::size_t i = 0; i < requests.size(); ++i) {
      line.send(requests[i], [&outcomes, i](outcome o) {
        outcomes[i].set_value(std::move(o));  // throws the second time
      });
    }
  }
  open.set_value();
  std::vector<outcome> all;
  for (auto& each : outcomes) {
    auto coming = each.get_future();
    if (coming.wait_for(30s) != std::future_status::ready) throw std::runtime_error{"somebody is never told"};
    all.push_back(coming.get());
  }
  return all;
}

/// What each was told: the answer, or "unknown".
std::vector<std::string> gist(const std::vector<outcome>& all) {
  std::vector<std::string> each;
  for (const outcome& o : all) {
    const auto* reason = std::get_if<store::request_error>(&o);
    each.push_back(reason == nullptr        ? std::get<std::string>(o)
                   : reason->maybe_executed ? "unknown"
                                            : "error");
  }
  return each;
}

using texts = std::vector<std::string>;

TEST(multiplexed_connection, tells_everybody_where_an_answer_is_not_understood) {
  EXPECT_EQ(gist(ask({"a", "not understood", "c"})), (texts{"a", "unknown", "unknown"}));
}

TEST(multiplexed_connection, tells_everybody_where_an_answer_is_forgotten) {
  EXPECT_EQ(gist(ask({"a", "forgotten", "c"})), (texts{"a", "unknown", "c"}));
}

TEST(multiplexed_connection, pings_where_its_wire_needs_that_and_sends_nothing_before_the_answer) {
  constexpr auto ping_every = 1ms;
  std::promise<void> open;
  open.set_value();
  runtime::event_loop event_loop;
  echo line{event_loop, open.get_future().share(), ping_every};
  for (const char* text : {"a", "b"}) {
    const auto answered = std::make_shared<std::promise<void>>();
    {
      const runtime::core_lock now{event_loop};
      line.send(text, [answered](const outcome&) { answered->set_value(); });
    }
    line.kick();
    ASSERT_EQ(answered->get_future().wait_for(30s), std::future_status::ready);
    for (const auto end = std::chrono::steady_clock::now() + 2 * ping_every;
         std::chrono::steady_clock::now() < end;) {
    }
  }
  line.shut();
  // A machine that stalls may need more than one ping.
  EXPECT_THAT(line.log(), testing::MatchesRegex("(ping.)*a.(ping.)+b.(ping.)*")) << "a dot is an answer";
}

// Otherwise the background thread would be woken, and read in place of the next caller.
TEST(multiplexed_connection, awaits_nothing_when_a_caller_leaves_who_has_read_all_answers) {
  std::promise<void> open;
  open.set_value();
  runtime::event_loop event_loop;
  echo line{event_loop, open.get_future().share()};
  store::caller blocked;
  {
    const runtime::core_lock now{event_loop, true};
    line.send("a claim", [&](const outcome&) {
      EXPECT_TRUE(line.is_awaited());
      line.send("a look", [&](const outcome&) { blocked.serve(); });
    });
  }
  line.help(blocked);
  line.shut();  // the one who reads may be another thread
  EXPECT_FALSE(line.is_awaited());
}

TEST(multiplexed_connection, awaits_what_others_have_sent_when_a_caller_leaves) {
  std::promise<void> open;
  runtime::event_loop event_loop;
  echo line{event_loop, open.get_future().share()};
  std::promise<void> answered;
  {
    const runtime::core_lock now{event_loop, true};
    line.send("of another thread", [&](const outcome&) { answered.set_value(); });
  }
  store::caller served;
  served.serve();
  line.help(served);
  EXPECT_TRUE(line.is_awaited());
  open.set_value();
  EXPECT_EQ(answered.get_future().wait_for(30s), std::future_status::ready);
}

/// What comes after it goes over the next connection.
TEST(multiplexed_connection, tells_everybody_where_something_cannot_be_sent) {
  EXPECT_EQ(gist(ask({"a", "not sent", "c"})), (texts{"unknown", "unknown", "c"}));
}

}  // namespace
}  // namespace holdfast::test
