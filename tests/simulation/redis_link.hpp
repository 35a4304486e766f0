// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simulation/ledger.hpp"
#include "simulation/line_link.hpp"
#include "stores/quorum/protocol/ballots.hpp"
#include "stores/redis/protocol/request_fsm.hpp"

namespace holdfast::sim {

class redis_link;

/// What a server of Redis does for whoever is on a line.
class switchboard {
 public:
  switchboard() = default;
  switchboard(const switchboard&) = delete;
  switchboard& operator=(const switchboard&) = delete;
  virtual ~switchboard() = default;

  /// A client has a new connection, and is to hear its channel on it.
  virtual void connected(redis_link& by) = 0;
  virtual void gone(redis_link& by) = 0;
  /// Carries out commands, as bytes, one after the other. \return when the replies leave the server; empty:
  /// it does not know the connection.
  virtual std::optional<instant> carry_out(const std::string& commands, const owner_id& client,
                                           std::uint32_t connection, std::vector<redis::value>& replies) = 0;
  /// A request is about to be carried out.
  virtual void begin_carrying_out(const ballots::request& request) = 0;
  /// Until when a command that takes its time keeps all others of that connection waiting.
  [[nodiscard]] virtual instant busy_until(const owner_id& client, std::uint32_t connection) = 0;
  /// A request has been carried out, as a whole or but for what replicas have to say, by the commands before.
  /// \param paused see ledger::executed.
  virtual void account_for(const ballots::request& request, bool late, const redis::value& reply,
                           duration paused) = 0;
  /// Whether clients ask if the server grants: see failover_guard.
  [[nodiscard]] virtual bool asks_for_guard() const = 0;
  /// \return empty: it does not know the connection.
  [[nodiscard]] virtual std::optional<redis::value> ask_for_guard(const owner_id& client,
                                                                  std::uint32_t connection) = 0;
  [[nodiscard]] virtual site& where() = 0;

  redis::dialect speech;
  bool careless = true;
  bool kills_former = true;  // of this world: clients may end their former connections, and do
  bool asks_again = true;    // clients ask more than once a connection
};

/// Turns requests into commands by the request_fsm of protocol/redis, and sends these. As link/redis does,
/// it ends its former connection at the server before it uses the next, in worlds where it may.
class redis_link final : public line_link {
 public:
  redis_link(switchboard& to, scene& in, host& from, line& over, duration reply_limit);
  ~redis_link() override;
  redis_link(const redis_link&) = delete;
  redis_link& operator=(const redis_link&) = delete;

  [[nodiscard]] bool joins(const std::vector<std::string_view>& /*names*/) const override { return true; }
  /// To a server that is one of several.
  void send_to_one(const ballots::request& request, on_reply done) {
    send(std::make_shared<talk>(request, to_, address()), std::move(done));
  }
  [[nodiscard]] std::uint32_t connection() const { return over_.connection(); }
  [[nodiscard]] line& way() const { return over_; }
  /// What the server of a new connection said to failover_guard's question.
  void hear_guard(const redis::value& reply);
  /// What answers and messages of a connection say it is: see store::stream_position. Zero is none.
  [[nodiscard]] static std::uint64_t number_of(std::uint32_t connection) {
    return std::uint64_t{connection} + 1;
  }
  /// A message for it on its connection.
  void push(store::notification n);

 private:
  struct talk final : parcel {
    talk(const ballots::request& request, const switchboard& to, const owner_id& client)
        : request{request}, request_fsm{request, to.speech, client}, from{client} {}
    ballots::request request;
    redis::request_fsm request_fsm;
    owner_id from;
    std::string said;
    std::optional<outcome> heard;
    duration paused{};        // it may grant nothing, for so long
    bool is_granted = false;  // and asks the replicas
    bool is_demoted = false;  // the server
  };
  /// What was said has come to the server.
  struct arrival {
    redis_link* link;  // may be gone by now; the server does not know that
    switchboard* to;
    scene* in;
    line* way;
    std::shared_ptr<parcel> p;
    std::uint32_t connection;

    void operator()();
    void account(const redis::value& reply) const;
    void answer() const;
  };
  std::shared_ptr<parcel> pack(tickets::request request) override;
  void dispatch(std::shared_ptr<parcel> p) override;
  void begin_connection() override;
  void say(const std::shared_ptr<parcel>& p);
  void ask_again();

  switchboard& to_;
  redis::failover_guard guard_;
  store::time_point asked_at_;
  bool is_asking_ = false;
  std::deque<std::shared_ptr<parcel>> behind_question_;
};

}  // namespace holdfast::sim
