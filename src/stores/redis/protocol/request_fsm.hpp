// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/link.hpp"
#include "core/request.hpp"
#include "stores/quorum/protocol/ballots.hpp"
#include "stores/redis/protocol/cluster.hpp"
#include "stores/redis/protocol/dialect.hpp"
#include "stores/redis/protocol/failover_guard.hpp"
#include "stores/redis/protocol/listing.hpp"
#include "stores/redis/protocol/resp.hpp"

namespace holdfast::redis {

/// One request to a server: commands to send and a reply to each, until there is an outcome. Most requests
/// take one command. A request takes more where the server does not have the script, where replicas have to
/// acknowledge a grant, where a key is of a wrong type, and where a claim of a cluster begins to wait. A
/// listing is several requests, each for a part of the database or of the names, so that it ends when its
/// caller gives up. It performs no I/O: the link, or the simulator, carries the bytes.
class request_fsm {
 public:
  using outcome = tickets::link::outcome;

  /// \param in must outlive the object.
  request_fsm(ballots::request request, const dialect& in, const owner_id& client);

  /// Appends the commands to send now. \return the number of replies to expect.
  /// \param paused why the server grants nothing now: see failover_guard.
  /// \param channels of the connection, which outlive the reply; null: notifications come on the client's
  /// channel alone.
  [[nodiscard]] std::size_t say(std::string& out, std::optional<failover_guard::pause> paused = std::nullopt,
                                shard_channels* channels = nullptr);
  /// Takes all replies to the commands that `say` appended last. Without an outcome, call `say` again.
  [[nodiscard]] std::optional<outcome> hear(std::vector<value> replies);
  /// Without an outcome: the one of a request that is not sent again, as its time is over, or as the server
  /// may grant nothing any more. What the server did not know has not been carried out.
  /// \param has_to_ask the server has to be asked first whether it grants: see failover_guard.
  [[nodiscard]] std::optional<outcome> give_up(store::time_point now, bool has_to_ask = false) const;
  /// Which server has to be asked instead, once `hear` has returned. The outcome is an error for whoever does
  /// not follow it.
  [[nodiscard]] const std::optional<redis::redirection>& redirection() const { return redirection_; }
  /// Whether a batch of renewals was refused, since its slot is on its way: see moving_renewal.
  [[nodiscard]] bool is_between_servers() const { return is_between_servers_; }
  [[nodiscard]] const ballots::request& request() const { return request_; }
  /// The request, to send it there. \pre the server is none that votes.
  [[nodiscard]] tickets::request take_request() { return std::get<tickets::request>(std::move(request_)); }

 private:
  enum class stage : std::uint8_t {
    script,    // by its digest
    text,      // in full: the server did not know it
    replicas,  // granted; waits for enough acknowledgements
    type,      // of the lock's key, which is no lock of Holdfast
    scan,      // a part of the names
    details,   // of each of a batch of names
  };

  class speaker;

  [[nodiscard]] std::string lock_key() const { return in_->prefix + std::string{name_of(request_)}; }
  [[nodiscard]] std::int64_t keep() const;
  std::optional<outcome> refusal(const std::string& error);
  [[nodiscard]] store::request_error wrong_type(const std::string& type) const;
  std::optional<outcome> hear_script(const value& reply);
  [[nodiscard]] outcome hear_inspection(const value& reply) const;
  void explain_pause(outcome& of_script) const;
  [[nodiscard]] outcome hear_replicas(const value& reply) const;
  outcome hear_details(const std::vector<value>& replies);
  [[nodiscard]] outcome so_far(bool progress) const;
  void say_script(std::string& out, bool in_full) const;
  bool say_listen(std::string& out);
  [[nodiscard]] bool is_listening() const;

  ballots::request request_;
  const dialect* in_;
  owner_id client_;
  stage stage_ = stage::script;
  std::unique_ptr<tickets::reply> granted_;      // while replicas are asked
  std::optional<failover_guard::pause> paused_;  // when the script was sent
  shard_channels* channels_ = nullptr;           // likewise
  bool listens_ = false;                         // the first reply tells whether it may
  bool is_placed_ = false;                       // as long as it does not listen, it may miss its grant
  std::optional<redis::redirection> redirection_;
  bool is_between_servers_ = false;
  std::shared_ptr<listing> listing_;
  std::shared_ptr<inspection> inspection_;
};

/// Whether a claim is granted.
[[nodiscard]] bool grants(const request_fsm::outcome& o);

/// The texts of all scripts of requests.
[[nodiscard]] std::vector<std::string_view> all_scripts(const dialect& in);

/// Parses a message on a client's channel; empty: it is no notification.
[[nodiscard]] std::optional<store::notification> read_notification(std::string_view payload);

}  // namespace holdfast::redis
