#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "simulation/quorum/stage.hpp"

namespace holdfast::sim {

/// A connection that a server takes for living, and over which requests of somebody else come late.
class former_connection {
 public:
  former_connection(stage& on, std::size_t server)
      : on_{on},
        at_{on.in, static_cast<std::uint8_t>(77 + server), clock{std::chrono::hours{1}},
            clock{std::chrono::hours{1}}},
        way_{on.in, at_, on.server(server).at, std::chrono::milliseconds{1}},
        link_{on.server(server).server.connect(at_, way_, std::chrono::seconds{10})} {
    link_->on_notifications([this](const store::notification& n) {
      if (n.kind == store::notification_kind::look) told_to_look_.insert(n.owner);
    });
    way_.connect_soon();
    on.run(std::chrono::milliseconds{500});
  }
  ~former_connection() { way_.hang_up(); }
  former_connection(const former_connection&) = delete;
  former_connection& operator=(const former_connection&) = delete;

  /// A claim, or what the server still has of it.
  tickets::ballot claim(const owner_id& owner, fencing_token number, duration ttl = std::chrono::seconds{2},
                        std::int64_t weight = store::full_capacity) {
    tickets::request r = of(owner, tickets::task::acquire, tickets::ballot_step::claim);
    r.token = number;
    r.ttl = ttl;
    r.weight = weight;
    r.capacity = store::full_capacity;
    r.shareable = weight == 1;
    r.wait = true;
    r.metadata = std::make_shared<const std::string>("{}");
    return ask(std::move(r));
  }
  void yield(const owner_id& owner, std::uint64_t grant) {
    tickets::request r = of(owner, tickets::task::look, tickets::ballot_step::yield);
    r.grant = grant;
    (void)ask(std::move(r));
  }
  void withdraw(const owner_id& owner, fencing_token last) {
    tickets::request r = of(owner, tickets::task::withdraw, tickets::ballot_step::none);
    r.last = last;
    (void)ask(std::move(r));
  }
  void end_by_force(const owner_id& owner, fencing_token last) {
    tickets::request r = of(owner, tickets::task::force_release, tickets::ballot_step::end);
    r.last = last;
    (void)ask(std::move(r));
  }
  /// Whether a claim over this connection was told to look where it stands.
  [[nodiscard]] bool is_told_to_look(const owner_id& owner) const { return told_to_look_.contains(owner); }

 private:
  static tickets::request of(const owner_id& owner, tickets::task kind, tickets::ballot_step step) {
    tickets::request r;
    r.kind = kind;
    r.step = step;
    r.name = name_of(0);
    r.owner = owner;
    r.ttl = std::chrono::seconds{2};
    return r;
  }
  tickets::ballot ask(tickets::request r) {
    tickets::ballot said;
    link_->send(std::move(r), [&said](const tickets::link::outcome& o) {
      const auto* const reply = std::get_if<tickets::reply>(&o);
      const auto* const at = reply == nullptr ? nullptr : std::get_if<tickets::place>(reply);
      if (at != nullptr && at->vote) said = *at->vote;
    });
    on_.run(std::chrono::milliseconds{50});
    return said;
  }

  stage& on_;
  host at_;
  line way_;
  std::unique_ptr<tickets::link> link_;
  std::set<owner_id> told_to_look_;
};

}  // namespace holdfast::sim
