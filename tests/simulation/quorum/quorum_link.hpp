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
#include "simulation/quorum/quorum_mutants.hpp"
#include "simulation/quorum/quorum_store.hpp"

namespace holdfast::sim {

/// One of the servers, for one client.
struct quorum_server {
  std::unique_ptr<tickets::link> link;
  line& way;
  std::string place;
  std::optional<std::string>& set;  // that it keeps
};

/// A client's link to its servers, wired as by stores/quorum/link. Where servers keep the set of their
/// clients, the client asks each for it on its first connection; on a later one it does not.
template <class Coordinator>
class quorum_link final : public tickets::link {
 public:
  struct terms {
    duration silence{};
    duration oldest{};
    duration furthest{};
    duration grain{};
    bool keeps_sets = false;
    std::function<void(const store::notification&)> on_delivery{};
  };

  quorum_link(host& from, std::vector<quorum_server> servers, const terms& of, mutant with)
      : from_{from},
        servers_{std::move(servers)},
        time_{from, of.grain},
        seam_{with},
        coordinator_{time_, settings_of(of), uses_of(of)} {
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      servers_[i].link->on_notifications([this, i, delivered = of.on_delivery](const store::notification& n) {
        if (delivered) delivered(n);
        coordinator_.hear(i, n);
      });
      servers_[i].link->on_gap([this, i] {
        coordinator_.connected(i);
        if (missed_) missed_();
      });
      servers_[i].way.connect_soon();
      if (of.keeps_sets) meet(i);
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
  using settings = typename Coordinator::settings;
  using uses = typename Coordinator::uses;

  [[nodiscard]] settings settings_of(const terms& of) const {
    settings all{
        .servers = servers_.size(), .silence = of.silence, .oldest = of.oldest, .furthest = of.furthest};
    if (!of.keeps_sets) return all;
    for (const quorum_server& each : servers_) all.places.push_back(each.place);
    return all;
  }
  [[nodiscard]] uses uses_of(const terms& of) {
    uses all{[this](std::size_t to, tickets::request r, on_reply done) {
               seam_.pass(*servers_[to].link, to, std::move(r), std::move(done));
             },
             [this](std::function<void()> action) { from_.at(from_.now(), std::move(action)); },
             [this](const store::notification& n) { on_notification_(n); }};
    if (!of.keeps_sets) return all;
    all.join = [this](std::size_t to, const std::string& set) { join(to, set); };
    all.leave = [this](std::size_t at, const std::string& set) { leave(at, set); };
    return all;
  }

  /// As soon as there is a connection.
  void meet(std::size_t at) {
    line& way = servers_[at].way;
    if (!way.is_up()) {
      from_.at(from_.now() + std::chrono::milliseconds{5}, [this, at] { meet(at); });
      return;
    }
    way.to_server([this, at, &to = servers_[at], over = way.connection()] {
      to.way.to_client(over, [this, at, kept = shared(to.set)] {
        if (!coordinator_.meet(at, {*kept, true, {}})) coordinator_.connected(at);
      });
    });
  }
  /// SET NX, and GET.
  void join(std::size_t at, const std::string& set) {
    line& way = servers_[at].way;
    way.to_server([this, at, &to = servers_[at], over = way.connection(), set = shared(set)] {
      const bool writes = !to.set;
      if (writes) to.set = *set;
      to.way.to_client(over, [this, at, kept = shared(to.set), writes] {
        (void)coordinator_.joined(at, {*kept, true, {}}, writes);
      });
    });
  }
  void leave(std::size_t at, const std::string& set) {
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
  quorum_seam seam_;
  on_notification on_notification_;
  std::function<void()> missed_;
  Coordinator coordinator_;
};

}  // namespace holdfast::sim
