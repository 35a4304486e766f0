// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "simulation/mutant.hpp"
#include "simulation/redis/redis_model.hpp"
#include "simulation/redis_link.hpp"
#include "simulation/redis_mutants.hpp"
#include "simulation/replication.hpp"
#include "simulation/simulated_store.hpp"

namespace holdfast::sim {

/// The request_fsm of protocol/redis with a model of Redis, which runs the same Lua text as in production,
/// but for a mutant's.
class redis_store final : public simulated_store, private switchboard, private foreign_commands {
 public:
  explicit redis_store(mutant with);

  void begin(scene& in, site& at, ledger& account) override;
  std::unique_ptr<tickets::link> connect(host& from, line& over, duration reply_limit) override {
    return connect_to_one(from, over, reply_limit);
  }
  /// If it is one of several.
  std::unique_ptr<redis_link> connect_to_one(host& from, line& over, duration reply_limit);
  void notify_all(const store::notification& n) override;
  void heal() override;
  [[nodiscard]] foreign_commands* commands_for_foreign_clients() override { return this; }
  [[nodiscard]] bool is_a_server() const override { return true; }
  void refuse_until(instant when) override;
  /// All commands until then, as a server does that has lost the client's rights.
  void refuse_for_rights_until(instant when);
  [[nodiscard]] bool has_replicas() const override { return true; }
  void hold_back_replicas_until(instant when) override { replicas_.hold_back_until(in_->now, when); }
  /// Of every world from now on, instead of what its seed says.
  void demand_replicas(unsigned count) { always_replicas_ = count; }
  /// Of every world from now on, likewise: whether there is a guard, and `min-replicas-to-write`.
  void demand_guard(bool yes) { always_guard_ = yes; }
  void demand_min_replicas(bool yes) { always_min_replicas_ = yes; }
  /// The servers of all worlds from now on are some of several: see stores/quorum.
  void let_vote() { speech.votes = true; }
  /// Its settings have each write on the disk before its reply, and clients read that.
  void keep_each_write() { writes_ = redis::kept_writes::yes; }
  /// The server's clock shows multiples of that, in microseconds.
  void coarsen_clock(std::int64_t grain) { clock_grain_ = grain; }
  /// What expires does so by the server's wall clock.
  [[nodiscard]] bool clock_goes_back() const override { return true; }
  [[nodiscard]] ledger::terms terms() const override;
  std::vector<standing> claims() override;
  void restart() override;
  void fail_over() override;
  [[nodiscard]] duration oldest_number() const { return speech.oldest_number(); }
  [[nodiscard]] duration guard() const override { return speech.guard + speech.former_primary; }
  [[nodiscard]] bool has_former_primaries() const override { return true; }
  bool promote_beside() override;
  void demote_former() override;
  [[nodiscard]] bool leads_to_next(const line& way) override;
  void remember() override { remembered_ = server_.snapshot(); }
  void remember_as_replica() override;
  [[nodiscard]] unsigned replicas() const override { return speech.replicas; }
  void fall_back() override { server_.restore(remembered_); }
  void forget() override { server_.lose_everything(); }
  std::optional<std::size_t> evict() override;
  std::string damage() override;

 private:
  /// A connection that the server has not ended.
  struct session {
    connection at_server;
    std::uint32_t number = 0;  // of the line's connection
    instant busy_until{};
    std::optional<instant> written;  // when it last changed anything
    bool is_at_former = false;       // primary
  };
  /// A primary whose replica was promoted. It goes on for the clients that are connected to it, until it is
  /// made a replica.
  struct former_primary {
    redis_model server;
    connection listener;
    instant takes_writes_until;
    instant demoted;
  };
  struct known_client {
    owner_id client;
    redis_link* link = nullptr;     // null: its process is gone, its connection maybe not
    std::vector<session> sessions;  // the last one is in use
  };
  /// A key of a foreign client, where a lock's would be.
  struct foreign_key {
    std::uint32_t value = 0;  // the number of it
    std::int64_t expires_ms = 0;
    friend bool operator==(const foreign_key&, const foreign_key&) = default;
  };
  using foreign_keys = std::array<std::optional<foreign_key>, names>;

  void connected(redis_link& by) override;
  [[nodiscard]] bool asks_for_guard() const override { return asks_for_guard_ && speech.guard.count() != 0; }
  [[nodiscard]] std::optional<redis::value> ask_for_guard(const owner_id& client,
                                                          std::uint32_t connection) override;
  void gone(redis_link& by) override;
  std::optional<instant> carry_out(const std::string& commands, const owner_id& client,
                                   std::uint32_t connection, std::vector<redis::value>& replies) override;
  [[nodiscard]] instant busy_until(const owner_id& client, std::uint32_t connection) override;
  void begin_carrying_out(const ballots::request& request) override {
    if (ballots::get_if<tickets::request_release>(request) != nullptr ||
        std::holds_alternative<ballots::ask_owner>(request))
      account_->before_request([this] { return claims(); });
  }
  void account_for(const ballots::request& request, bool late, const redis::value& reply,
                   duration paused) override;
  void account_for_former(const tickets::request& joint, const tickets::reply& answer);
  [[nodiscard]] site& where() override { return *at_; }

  std::optional<bool> set_if_absent(std::size_t name, const std::string& value, milliseconds ttl) override;
  std::optional<bool> delete_if_same(std::size_t name, const std::string& value) override;
  std::optional<bool> extend_if_same(std::size_t name, const std::string& value, milliseconds ttl) override;
  redis::value execute_foreign(const std::vector<std::string>& command);
  void look_when_it_ends(std::size_t name);
  [[nodiscard]] foreign_keys look_at_foreign_keys(redis_model& server);
  void tell_of_foreign_keys(const foreign_keys& there);
  void tell_of_what_is_left_free();
  void execute_ours(session& by, redis::value& reply, instant& ready);
  [[nodiscard]] redis_model& server_of(const session& s) {
    return s.is_at_former ? former_->server : server_;
  }
  void promote();
  [[nodiscard]] bool is_idle_at_former(const known_client& c) const;
  [[nodiscard]] bool is_taken_over(const known_client& c) const;
  void prepare_former();

  [[nodiscard]] known_client& known(const owner_id& client);
  [[nodiscard]] session* find_session(const owner_id& client, std::uint32_t number);
  void listen_to(const owner_id& client);
  void listen_to_all();
  void hear(std::uint64_t connection, const redis::value& push);
  [[nodiscard]] std::optional<lock_state> inspect(const std::string& name);

  scene* in_ = nullptr;
  site* at_ = nullptr;
  ledger* account_ = nullptr;
  bool asks_for_guard_;
  mutant with_;
  lua_mutation change_;
  bool hears_replicas_;
  bool waits_for_own_writes_ = false;  // WAIT, as Valkey has it
  redis_model server_;
  dataset remembered_;
  std::optional<former_primary> former_;
  std::optional<milliseconds> min_replicas_max_lag_;  // empty: a former primary takes writes without replicas
  instant acknowledged_at_{};                         // when the replica did so last
  connection listener_;  // hears what is told to any client, so that it can be accounted for
  std::deque<known_client> known_clients_;
  replication replicas_;
  std::optional<unsigned> always_replicas_;
  std::optional<bool> always_guard_;
  std::optional<bool> always_min_replicas_;
  redis::kept_writes writes_ = redis::kept_writes::unknown;
  std::int64_t clock_grain_ = 1;
  instant refuses_until_{};
  std::uint64_t refuses_one_in_ = 1;
  bool refused_ = false;    // the command before
  bool by_former_ = false;  // primary; likewise
  redis_model::refusal refusal_;
  std::array<std::string, names> lock_keys_;
  std::array<std::string, names> fence_keys_;
  std::unordered_map<std::string, std::uint32_t, dataset::text_hash, std::equal_to<>> foreign_values_;
  connection foreign_;
  std::vector<store::client_notification> notifications_;
  /// By who hears the channels: what proved the last grant of each claim.
  std::unordered_map<owner_id, store::notification> seen_grants_;
  std::vector<std::string_view> arguments_;               // of the command that is being carried out
  std::map<std::string, std::size_t, std::less<>> ours_;  // keys that we may touch, and whose they are
};

}  // namespace holdfast::sim
