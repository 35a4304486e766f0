#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/mutant.hpp"
#include "sim/redis/redis_model.hpp"
#include "sim/redis_link.hpp"
#include "sim/redis_mutants.hpp"
#include "sim/simulated_store.hpp"

namespace holdfast::sim {

/// The conversation of protocol/redis with a model of Redis, which runs the same Lua text as in production,
/// but for a mutant's.
class redis_store final : public simulated_store, private switchboard {
 public:
  explicit redis_store(mutant with);

  void begin(scene& in, site& at, ledger& account) override;
  std::unique_ptr<tickets::link> connect(host& from, line& over, duration patience) override;
  void heal() override { careless = false; }
  /// What expires does so by the server's wall clock.
  [[nodiscard]] bool clock_goes_back() const override { return true; }
  [[nodiscard]] ledger::terms terms() const override;
  std::vector<standing> claims() override;
  void restart() override;
  void remember() override { former_ = server_.snapshot(); }
  void fall_back() override { server_.restore(former_); }
  void forget() override { server_.lose_everything(); }
  std::optional<std::size_t> evict() override;
  std::string damage() override;

 private:
  struct caller {
    owner_id client;
    redis_link* link = nullptr;  // null: its process is gone, its connection maybe not
    connection at_server;
    std::uint32_t number = 0;  // of the line's connection
    bool is_known = false;     // to the server
  };

  void connected(redis_link& by) override;
  void gone(redis_link& by) override;
  bool carry_out(const std::string& commands, const owner_id& client, std::uint32_t connection,
                 std::vector<redis::value>& replies) override;
  void account_for(const tickets::request& what, bool late, const tickets::link::outcome& answer) override;

  [[nodiscard]] caller& known(const owner_id& client);
  void listen_to(const owner_id& client);
  void hear(std::uint64_t connection, const redis::value& push);
  [[nodiscard]] std::optional<lock_state> inspect(const std::string& name);

  scene* in_ = nullptr;
  site* at_ = nullptr;
  ledger* account_ = nullptr;
  lua_mutation change_;
  redis_model server_;
  dataset former_;
  connection listener_;  // hears what is told to any client, so that it can be accounted for
  std::deque<caller> callers_;
  std::vector<word> told_;
  std::map<std::string, std::size_t, std::less<>> ours_;  // keys that we may touch, and whose they are
};

}  // namespace holdfast::sim
