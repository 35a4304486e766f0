// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "simulation/ledger.hpp"
#include "support/request_form.hpp"

namespace holdfast::sim {

/// What several servers together have granted, for the witness. No server decides alone, so what a ledger
/// requires of a store is not required of any of them: this one knows which of them have accepted which
/// token.
class quorum_ledger final : public ledger {
 public:
  static constexpr std::size_t most_servers = 5;
  /// How many servers have granted a claim that lives there.
  using count_of_grants = std::function<std::size_t(std::size_t name, const owner_id& owner)>;

  quorum_ledger(scene& in, const site& calm, std::size_t servers, count_of_grants look)
      : ledger{in, calm, {}, [] { return std::vector<standing>{}; }},
        in_{in},
        majority_{servers / 2 + 1},
        look_{std::move(look)} {}

  using ledger::count_request;
  /// \param late see ledger::executed.
  void granted_at(std::size_t server, const store::notification& n);
  void executed_at(std::size_t server, std::int64_t now, const test::request_form& request, bool late,
                   const tickets::reply& answer);
  /// \param has_guard it grants nothing for a while, and accepts no number from before.
  void forgot_all_at(std::size_t server, bool has_guard = true);

  [[nodiscard]] bool may_be_back(const owner_id& owner) const override {
    return claimed_late_.contains(owner);
  }
  [[nodiscard]] bool answers_for(const owner_id& owner) const override;
  [[nodiscard]] bool surely_lives(const store::hold& h) const override;
  [[nodiscard]] bool may_have(const store::hold& /*h*/) const override { return true; }
  [[nodiscard]] bool has_turned_away(const owner_id& owner) const override {
    return turned_away_.contains(owner);
  }
  [[nodiscard]] bool is_ended_by_hand(const owner_id& owner) const override {
    return ended_by_hand_.contains(owner);
  }
  [[nodiscard]] grant grant_of(const store::hold& h) const override;
  /// One of the last that were claimed.
  [[nodiscard]] const standing* any_claim(randomness& chance) const override;
  /// A server has another time than `executed_at` has heard last.
  std::function<std::int64_t(std::size_t server)> clock_of;

 private:
  /// A claim, as the servers were asked for it.
  struct claimed {
    std::int64_t weight = 0;
    std::array<std::int64_t, most_servers> expires{};  // where it surely lives until then; zero: nowhere
    std::array<bool, most_servers> ended{};            // a release was carried out
    instant first_request = never;
    instant first_vote = never;
    instant denied = instant::min();  // when a server has said last that it has no such hold
    std::map<std::uint64_t, std::set<std::size_t>> accepted;  // by token: the servers
  };
  void stands(std::size_t server, std::int64_t now, const test::request_form& request, bool late,
              const tickets::place& at);

  scene& in_;
  const std::size_t majority_;
  const count_of_grants look_;
  std::unordered_map<owner_id, claimed> claims_;
  std::deque<standing> latest_;
  std::unordered_set<owner_id> claimed_late_;
  std::unordered_set<owner_id> turned_away_;
  std::unordered_set<owner_id> ended_by_hand_;
  /// In the order of beliefs. A belief is in none where a vote may have ended early, unknown to the client:
  /// its grant is older than the belief. Readers together are one group, and within it a token is its own
  /// order: which of two readers got its majority first nobody has promised.
  struct order {
    std::uint64_t group = 0;
    std::uint64_t first_token = 0;
    std::map<std::pair<owner_id, std::uint64_t>, grant> grants;
  };
  mutable std::array<order, names> orders_;
  mutable std::uint32_t eras_without_order_ = 0;
  instant numbers_mean_nothing_until_ = instant::min();  // those of claims that came before
};

/// What is carried out at one of the servers.
class node_ledger final : public ledger {
 public:
  node_ledger(scene& in, const site& at, quorum_ledger& all, std::size_t server)
      : ledger{in, at, {}, [] { return std::vector<standing>{}; }},
        in_{in},
        at_{at},
        all_{all},
        server_{server} {}
  void executed(const test::request_form& request, bool late, const tickets::reply& answer,
                const std::vector<store::client_notification>& notifications, duration paused) override;
  void before_request(const std::function<std::vector<standing>()>& look) override {
    look_ = look;
    before_request_ = look();
  }
  /// A claim may take such a moment at another server.
  void left_free(std::size_t /*name*/, std::int64_t /*until*/, bool /*careless*/) override {}

 private:
  void print(const test::request_form& request, bool late, const tickets::reply& answer,
             const std::vector<store::client_notification>& notifications, duration paused);
  void requested(const test::request_form& request, const tickets::reply& answer,
                 const std::vector<store::client_notification>& notifications) const;

  scene& in_;
  const site& at_;
  quorum_ledger& all_;
  std::size_t server_;
  std::function<std::vector<standing>()> look_;
  std::vector<standing> before_request_;
};

}  // namespace holdfast::sim
