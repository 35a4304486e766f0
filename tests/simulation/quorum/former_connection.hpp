// SPDX-License-Identifier: Apache-2.0
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
#include "support/ballot_form.hpp"
#include "support/request_form.hpp"

namespace holdfast::sim {

/// A connection that a server takes for living, and over which requests of somebody else come late.
class former_connection {
 public:
  former_connection(stage& on, std::size_t server)
      : on_{on},
        at_{on.in, static_cast<std::uint8_t>(77 + server), clock{std::chrono::hours{1}},
            clock{std::chrono::hours{1}}},
        way_{on.in, at_, on.server(server).at, std::chrono::milliseconds{1}},
        link_{on.server(server).server.connect_to_one(at_, way_, std::chrono::seconds{10})} {
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
    test::request_form r = of(owner, test::task::vote);
    r.token = number;
    r.ttl = ttl;
    r.weight = weight;
    r.capacity = store::full_capacity;
    r.shareable = weight == 1;
    r.wait = true;
    r.metadata = std::make_shared<const std::string>("{}");
    return ask(r);
  }
  void yield(const owner_id& owner, std::uint64_t grant) {
    test::request_form r = of(owner, test::task::yield);
    r.grant = grant;
    (void)ask(r);
  }
  void withdraw(const owner_id& owner, fencing_token last) {
    test::request_form r = of(owner, test::task::retract);
    r.last = last;
    (void)ask(r);
  }
  void end_by_force(const owner_id& owner, fencing_token last) {
    test::request_form r = of(owner, test::task::end_hold);
    r.last = last;
    (void)ask(r);
  }
  /// Whether a claim over this connection was told to look where it stands.
  [[nodiscard]] bool is_told_to_look(const owner_id& owner) const { return told_to_look_.contains(owner); }

 private:
  static test::request_form of(const owner_id& owner, test::task kind) {
    test::request_form r;
    r.kind = kind;
    r.name = name_of(0);
    r.owner = owner;
    r.ttl = std::chrono::seconds{2};
    return r;
  }
  tickets::ballot ask(const test::request_form& r) {
    tickets::ballot said;
    link_->send_to_one(test::ballot_of(r), [&said](const tickets::link::outcome& o) {
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
  std::unique_ptr<redis_link> link_;
  std::set<owner_id> told_to_look_;
};

}  // namespace holdfast::sim
