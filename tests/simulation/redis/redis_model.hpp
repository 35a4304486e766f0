// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "simulation/redis/command.hpp"
#include "simulation/redis/dataset.hpp"
#include "simulation/redis/interpreter.hpp"
#include "stores/redis/protocol/resp.hpp"

namespace holdfast::sim {

/// One client's connection, as the server sees it. Made by redis_model::connect(), kept by the caller.
struct connection {
  std::uint64_t id = 0;
};

/// A Redis 7.0 with one database, in memory, on a clock of the caller's: the commands and options that the
/// library's scripts and clients use, and no others. It answers what the real server answers, scripts and
/// errors included; tests/simulation/redis/against_server compares the two.
///
/// A command is carried out whole and at once; replies and pushes are values, and how long they travel, or
/// whether they arrive, is the caller's matter. What has expired by the clock is gone from that moment on.
///
/// A model, its copies, and all others of a thread share that thread's Lua: use each on one thread. Otherwise
/// a model is a value: a copy is a second server with the same past, as a replica that becomes one of its
/// own. Nothing in it depends on addresses, hash seeds or real time: the same commands give the same answers.
///
///     redis_model server{[&] { return now_us; }, [&](std::uint64_t to, const redis::value& push) { ... }};
///     connection client = server.connect();
///     server.execute({"SET", "stock", "owner", "NX", "PX", "30000"}, client);
class redis_model : private script_host {
 public:
  /// Microseconds since 1970 by the server's clock. Asked once a command.
  using clock = std::function<std::int64_t()>;
  /// A push for that connection, in the middle of execute(): a message. It must not call the model.
  using deliver = std::function<void(std::uint64_t connection, const redis::value& push)>;

  /// What a server in trouble answers, whole: "LOADING Redis is loading the dataset in memory".
  struct refusal {
    enum class of : std::uint8_t {
      nothing,
      commands,  // whatever comes in; what a script calls is not asked again
      writes,    // also of scripts: READONLY, MISCONF
      growth,    // writes that may take memory, as OOM; a script that has written already goes on
    };
    of scope = of::nothing;
    std::string error;
  };
  struct settings {
    bool read_only = false;     // as a replica is: writing is an error READONLY
    std::int64_t replicas = 0;  // what WAIT answers
    refusal refuses;
  };

  /// What INFO says of the server as a primary, as far as failover_guard asks.
  struct identity {
    std::string replication;         // its replication id
    std::string former_replication;  // of the primary that it followed; zeros: none
    std::string run;                 // another with each start of a process
    std::int64_t started_us = 0;
  };

  explicit redis_model(clock now_us, deliver push = {});

  [[nodiscard]] connection connect();
  /// Ends its subscriptions.
  void disconnect(const connection& c);

  /// Carries out one command. SUBSCRIBE is answered by a push without items.
  redis::value execute(std::span<const std::string_view> command, connection& by);
  redis::value execute(const std::vector<std::string>& command, connection& by);

  settings& configure() noexcept { return settings_; }

  // What goes wrong with servers.

  /// The process ends and starts anew: connections, subscriptions and scripts are gone. The data stay; follow
  /// with restore() or lose_everything() for a server that had not yet written them down. It has another
  /// replication id, and no former one, as after reading an append-only file.
  void restart();
  /// From now on this is the server's replica, which was promoted: follow with restore() for what it had not
  /// received. Connections and scripts are gone.
  void fail_over();
  /// From now on this follows that primary: it has its data, and takes no writes. Connections stay.
  void follow(const redis_model& primary);
  /// Such a replica is promoted: follow with restore() for what it had not received.
  void take_over_from(const redis_model& primary);
  /// As a primary does whose last replica has gone for long: another replication id, and no former one.
  void change_replication_id();
  void lose_everything() { data_.restore(dataset{}); }
  /// As maxmemory does it: one of the keys that have an expiry. \param draw any number, which decides.
  /// \return its name, if any
  std::optional<std::string> evict_volatile(std::uint64_t draw);

  /// What is there, as of the last command.
  [[nodiscard]] const dataset& data() const noexcept { return data_; }
  /// Brings that up to the clock: what has expired is not there any more.
  void look() { begin_command(); }
  /// A backup, and back. Connections and scripts are not in it.
  [[nodiscard]] dataset snapshot() const { return data_; }
  void restore(dataset data) { data_.restore(std::move(data)); }

  // What tests want to know.

  /// The names of all keys that were changed since this was asked last, sorted; not those lost or evicted.
  [[nodiscard]] std::vector<std::string> take_touched() { return data_.take_touched(); }

 private:
  friend struct server_access;

  bool call_from_script(std::span<const std::string_view> arguments, redis::value& reply) override;
  void dispatch(call& c);
  [[nodiscard]] bool is_refused(const call& c, const command& request) const;
  std::int64_t begin_command();
  void forget_connections();
  [[nodiscard]] std::string next_identity();

  clock clock_;
  deliver deliver_;
  settings settings_;
  identity identity_;
  dataset data_;
  std::int64_t now_us_ = 0;
  std::uint64_t last_id_ = 0;
  std::uint64_t last_identity_ = 0;
  connection* by_ = nullptr;  // who runs the script
  bool has_written_ = false;  // this command, or the script so far
  using script_names =
      std::unordered_map<std::string, const interpreter::script*, dataset::text_hash, std::equal_to<>>;
  script_names scripts_;
  std::unordered_map<std::string, std::vector<std::uint64_t>, dataset::text_hash, std::equal_to<>>
      subscribers_;
};

}  // namespace holdfast::sim
