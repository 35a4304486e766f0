#include "simulation/quorum/quorum_store.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "bent/coordinator.hpp"
#include "simulation/quorum/coarse_time.hpp"
#include "simulation/quorum/is_bent.hpp"

namespace holdfast::sim {

using namespace std::chrono_literals;

namespace {

/// A client's link to all servers, wired as by stores/quorum/link.
template <class Coordinator>
class quorum_link final : public tickets::link {
 public:
  quorum_link(host& from, std::vector<std::unique_ptr<tickets::link>> servers, std::deque<line>& ways,
              duration silence, duration oldest, duration grain, mutant with)
      : servers_{std::move(servers)},
        time_{from, grain},
        ways_{ways},
        seam_{with},
        coordinator_{time_,
                     {.servers = servers_.size(), .silence = silence, .oldest = oldest},
                     {[this](std::size_t to, tickets::request r, on_reply done) {
                        seam_.pass(*servers_[to], to, std::move(r), std::move(done));
                      },
                      [&from](std::function<void()> action) { from.at(from.now(), std::move(action)); },
                      [this](const store::notification& n) { on_notification_(n); }}} {
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      servers_[i]->on_notifications([this, i](const store::notification& n) { coordinator_.hear(i, n); });
      servers_[i]->on_gap([this] {
        if (missed_) missed_();
      });
    }
    for (line& each : ways_) each.connect_soon();
  }
  /// The process is gone, and its connections with it.
  ~quorum_link() override {
    coordinator_.stop();
    for (line& each : ways_) each.hang_up();
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
  std::vector<std::unique_ptr<tickets::link>> servers_;
  coarse_time time_;
  std::deque<line>& ways_;
  quorum_seam seam_;
  on_notification on_notification_;
  std::function<void()> missed_;
  Coordinator coordinator_;
};

}  // namespace

quorum_store::node::node(scene& in, const clock& wall, quorum_ledger& all, std::size_t number, mutant with,
                         bool has_guard)
    : at{in, clock{1h}, wall}, account{in, at, all, number}, server{with} {
  server.let_vote();
  server.demand_replicas(0);
  server.demand_guard(has_guard);
  server.demand_min_replicas(false);
  server.begin(in, at, account);
}

quorum_store::quorum_store(scene& in, quorum_ledger& all, duration silence, mutant with)
    : in_{in}, all_{all}, silence_{silence}, with_{with} {
  all.clock_of = [this](std::size_t server) { return nodes_.at(server).at.lease_now(); };
}

void quorum_store::add_node(const clock& wall) {
  nodes_.emplace_back(in_, wall, all_, nodes_.size(), with_, has_guard_);
  nodes_.back().server.coarsen_clock(std::max<std::int64_t>(grain_.count(), 1));
}

void quorum_store::crash(std::size_t server) {
  node& crashed = nodes_.at(server);
  crashed.at.go_down();
  crashed.server.restart();
  for (auto& [client, ways] : ways_) ways.at(server).cut();
}

std::unique_ptr<tickets::link> quorum_store::connect(host& from, line& /*over*/, duration reply_limit) {
  std::deque<line>& ways = ways_[from.number()];
  if (ways.empty()) {
    for (node& each : nodes_)
      ways.emplace_back(in_, from, each.at, in_.chance.between(100us, 2ms), ways.size() + 1);
  }
  std::vector<std::unique_ptr<tickets::link>> servers;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    servers.push_back(nodes_[i].server.connect(from, ways[i], reply_limit));
  bent_with() = with_;
  const duration oldest = nodes_.front().server.oldest_number();
  if (bends_protocol(with_)) {
    return std::make_unique<quorum_link<bent_quorum::coordinator>>(from, std::move(servers), ways, silence_,
                                                                   oldest, grain_, with_);
  }
  return std::make_unique<quorum_link<quorum::coordinator>>(from, std::move(servers), ways, silence_, oldest,
                                                            grain_, with_);
}

std::size_t quorum_store::count_of_grants(std::size_t name, const owner_id& owner) {
  return static_cast<std::size_t>(std::count_if(nodes_.begin(), nodes_.end(), [&](node& each) {
    const auto there = each.server.claims();
    return std::any_of(there.begin(), there.end(), [&](const standing& s) {
      return s.name == name && s.owner == owner && s.granted && s.expires > each.at.lease_now();
    });
  }));
}

void quorum_store::notify_all(const store::notification& n) {
  for (node& each : nodes_) each.server.notify_all(n);
}

void quorum_store::heal() {
  for (node& each : nodes_) each.server.heal();
  for (auto& [client, ways] : ways_)
    for (line& each : ways) each.heal();
}

std::vector<standing> quorum_store::claims() {
  std::vector<standing> all;
  for (node& each : nodes_) {
    const auto there = each.server.claims();
    all.insert(all.end(), there.begin(), there.end());
  }
  return all;
}

std::string quorum_store::damage() {
  for (node& each : nodes_)
    if (std::string found = each.server.damage(); !found.empty()) return found;
  return {};
}

}  // namespace holdfast::sim
