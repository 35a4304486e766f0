// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simulation/quorum/coarse_time.hpp"
#include "simulation/quorum/quorum_store.hpp"

namespace holdfast::sim {

/// One of the servers, for one client.
struct quorum_server {
  std::unique_ptr<redis_link> link;
  line& way;
  std::string place;
  std::optional<std::string>& set;  // that it keeps
};

/// A client's link to its servers, wired as by stores/quorum/link. Where servers keep the set of their
/// clients, the client asks each for it on its first connection; on a later one it does not.
class quorum_link final : public tickets::link, private quorum::transport {
 public:
  using on_reply = tickets::link::on_reply;
  struct terms {
    duration silence{};
    duration oldest{};
    duration furthest{};
    duration grain{};
    bool keeps_sets = false;
    std::function<void(const store::notification&)> on_delivery{};
  };

  quorum_link(host& from, std::vector<quorum_server> servers, const terms& of)
      : from_{from},
        servers_{std::move(servers)},
        time_{from, of.grain},
        keeps_sets_{of.keeps_sets},
        coordinator_{
            time_,
            {.places = places(), .silence = of.silence, .oldest = of.oldest, .furthest = of.furthest},
            *this} {
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      servers_[i].link->on_notifications([this, i, delivered = of.on_delivery](const store::notification& n) {
        if (delivered) delivered(n);
        coordinator_.on_notification(i, n);
      });
      servers_[i].link->on_gap([this, i] {
        coordinator_.connected(i);
        if (missed_) missed_();
      });
      servers_[i].way.connect_soon();
      if (keeps_sets_) meet(i);
    }
  }
  /// The process is gone, and its connections with it.
  ~quorum_link() override {
    coordinator_.stop();
    for (quorum_server& each : servers_) each.way.hang_up();
  }
  quorum_link(const quorum_link&) = delete;
  quorum_link& operator=(const quorum_link&) = delete;

  void send(tickets::request request, on_reply done) override {
    coordinator_.send(std::move(request), std::move(done));
  }
  void on_notifications(on_notification handler) override { on_notification_ = std::move(handler); }
  void on_gap(const std::function<void()>& missed) override { missed_ = missed; }
  std::shared_ptr<void> watch(store::watched /*target*/, std::function<void()> /*changed*/) override {
    return nullptr;
  }
  void help(store::caller& /*who*/) override {}
  bool drive() override { return false; }
  void kick() override {}

 private:
  [[nodiscard]] std::vector<std::string> places() const {
    std::vector<std::string> all;
    for (const quorum_server& each : servers_) all.push_back(each.place);
    return all;
  }
  void send_to(std::size_t to, ballots::request r, on_reply done) override {
    servers_[to].link->send_to_one(r, std::move(done));
  }
  void soon(std::function<void()> action) override { from_.at(from_.now(), std::move(action)); }
  void notify(const store::notification& n) override { on_notification_(n); }
  [[nodiscard]] bool keeps_sets() const override { return keeps_sets_; }

  /// As soon as there is a connection.
  void meet(std::size_t at) {
    line& way = servers_[at].way;
    if (!way.is_up()) {
      from_.at(from_.now() + std::chrono::milliseconds{5}, [this, at] { meet(at); });
      return;
    }
    way.to_server([this, at, &to = servers_[at], over = way.connection()] {
      to.way.to_client(over, [this, at, kept = shared(to.set)] {
        if (!coordinator_.on_hello(at, {*kept, true, {}})) coordinator_.connected(at);
      });
    });
  }
  /// SET NX, and GET.
  void join(std::size_t at, const std::string& set) override {
    line& way = servers_[at].way;
    way.to_server([this, at, &to = servers_[at], over = way.connection(), set = shared(set)] {
      const bool writes = !to.set;
      if (writes) to.set = *set;
      to.way.to_client(over, [this, at, kept = shared(to.set), writes] {
        (void)coordinator_.joined(at, {*kept, true, {}}, writes);
      });
    });
  }
  void leave(std::size_t at, const std::string& set) override {
    servers_[at].way.to_server([&to = servers_[at], set = shared(set)] {
      if (to.set == *set) to.set.reset();
    });
  }
  /// What is on a line is small.
  template <class Text>
  static std::shared_ptr<const Text> shared(const Text& text) {
    return std::make_shared<const Text>(text);
  }

  host& from_;
  std::vector<quorum_server> servers_;
  coarse_time time_;
  on_notification on_notification_;
  std::function<void()> missed_;
  const bool keeps_sets_;
  quorum::coordinator coordinator_;
};

}  // namespace holdfast::sim
