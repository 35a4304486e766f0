#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "core/link.hpp"
#include "core/samples.hpp"
#include "core/virtual_time.hpp"
#include "stores/memory/link/table.hpp"

namespace holdfast::test {

class faulty_link;

/// One store, and all links to it.
struct faulty_store {
  memory::table table;
  std::vector<faulty_link*> links;
  bool fair = false;  // from now on nothing is lost
};

/// A link from one client to a store in memory, through a network that is slow and loses things: requests
/// before they are carried out, replies after, notifications, for single messages and for long times. It
/// keeps the promises of tickets::link: in order, always answered, and `unknown` wherever the client cannot
/// know.
class faulty_link final : public tickets::link {
 public:
  faulty_link(virtual_time& time, faulty_store& to, const owner_id& client)
      : time_{time}, store_{to}, client_{client} {
    store_.links.push_back(this);
  }

  void send(tickets::request request, on_reply done) override {
    arrival_ = std::max(arrival_, time_.now() + delay());  // one way, in order
    const bool arrives = !loses();
    const bool answers = arrives && !loses();
    const bool refused = !arrives && one_in(3);  // and the client knows
    time_.at(arrival_, [=, this, request = std::move(request), done = std::move(done)] {
      outcome result = refused ? retryable : retryable_maybe_executed;
      if (arrives) {
        tickets::reply reply = carry_out(request);
        if (answers) result = std::move(reply);
      }
      time_.at(time_.now() + (answers ? delay() : 50ms), [=] { done(result); });
    });
  }
  void on_notifications(on_notification handler) override { on_notification_ = std::move(handler); }
  std::shared_ptr<void> watch(store::watched, std::function<void()>) override { return nullptr; }
  void help(store::caller&) override {}
  bool drive() override { return false; }
  void kick() override {}

  /// Nothing gets through until then.
  void cut_until(store::time_point when) { cut_until_ = when; }

 private:
  [[nodiscard]] bool one_in(std::uint64_t n) { return time_.random() % n == 0; }
  [[nodiscard]] bool loses() { return !store_.fair && (time_.now() < cut_until_ || one_in(12)); }
  [[nodiscard]] duration delay() { return duration{static_cast<std::int64_t>(time_.random() % 20'000)}; }

  tickets::reply carry_out(const tickets::request& request) {
    std::vector<store::client_notification> notifications;
    const auto wall_us = std::chrono::duration_cast<duration>(time_.now().time_since_epoch()).count();
    tickets::reply r = store_.table.carry_out(request, client_, time_.now(), wall_us, notifications);
    for (const store::client_notification& n : notifications) {
      for (faulty_link* to : store_.links) {
        if (to->client_ == n.client) to->receive(n.message);
      }
    }
    return r;
  }
  /// A notification on its way: late, perhaps twice, perhaps never.
  void receive(const store::notification& n) {
    const int times = loses() ? 0 : one_in(10) ? 2 : 1;
    for (int i = 0; i < times; ++i) {
      time_.at(time_.now() + delay(), [this, n] { on_notification_(n); });
    }
  }

  virtual_time& time_;
  faulty_store& store_;
  owner_id client_;
  on_notification on_notification_;
  store::time_point arrival_;
  store::time_point cut_until_;
};

}  // namespace holdfast::test
