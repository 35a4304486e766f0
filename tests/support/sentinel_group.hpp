// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/certificates.hpp"
#include "support/fault_proxy.hpp"
#include "support/redis_server.hpp"
#include "support/scratch_folder.hpp"

namespace holdfast::test {

/// A primary, two replicas and three Sentinels, two of which decide: real servers on the loopback. They are
/// gone with this object. The primary's name is `mymaster`.
class sentinel_group {
 public:
  struct settings {
    /// After so long a server is down for a Sentinel. The default is short, for failovers; a loaded machine
    /// may cause one.
    std::chrono::milliseconds down_after{1000};
    std::vector<std::string> lines{};           ///< of the servers' configuration
    std::vector<std::string> sentinel_lines{};  ///< of the Sentinels' configuration
    std::string password{};                     ///< of the servers
    std::string sentinel_password{};            ///< of the Sentinels
    bool tls = false;                           ///< between all of them, and for clients
    bool append_only = false;                   ///< every write is on the disk before its reply
    bool on_lines = false;  ///< all others, clients too, reach a server through a proxy: see `line`
  };

  static constexpr std::size_t count = 3;  ///< of servers, and of Sentinels

  /// Returns when each knows all others. \throws std::runtime_error.
  sentinel_group() : sentinel_group(settings{}) {}
  explicit sentinel_group(settings options);

  [[nodiscard]] redis_server& server(std::size_t index) { return *servers_.at(index); }
  [[nodiscard]] redis_server& sentinel(std::size_t index) { return *sentinels_.at(index); }
  /// The proxy before a server, which is its address for all others.
  [[nodiscard]] fault_proxy& line(std::size_t index) { return *lines_.at(index); }
  /// The server that is the primary for a majority of the Sentinels that answer, and in its own view.
  /// Waits for a failover. \throws std::runtime_error.
  [[nodiscard]] redis_server& primary() { return server(primary_index()); }
  [[nodiscard]] std::size_t primary_index();
  /// One of the others.
  [[nodiscard]] redis_server& replica() { return server((primary_index() + 1) % count); }
  /// Returns when the replicas have all that the primary has written.
  void replicate();
  /// Makes a Sentinel fail over, without asking the others; returns when that has happened. Usually another
  /// server is the primary then: a loaded machine may cause one more failover.
  void fail_over();
  /// The number of the last failover that a majority of the Sentinels knows of.
  [[nodiscard]] std::int64_t epoch();
  /// Returns when there was another failover, and there is a primary.
  void await_failover_after(std::int64_t epoch);
  /// Returns when another server than this is the primary. For one that cannot come back.
  void await_failover_from(std::size_t former);
  /// Returns when so many clients of Holdfast are connected to the primary.
  void await_clients(int count);
  /// Returns when the server follows the primary.
  void await_replica(std::size_t index);

  /// A store URL; `rest` follows the primary's name: "/3", "?prefix=a:". The failover guard is off: the
  /// servers have just started, and would grant nothing for a while.
  [[nodiscard]] std::string url(std::string_view rest = {}) const;
  /// The same with the guard that `rest` names, or the default one.
  [[nodiscard]] std::string guarded_url(std::string_view rest = {}) const;
  /// Of those Sentinels, or whatever listens there.
  [[nodiscard]] std::string url_at(const std::vector<std::uint16_t>& ports, std::string_view rest = {}) const;
  [[nodiscard]] std::vector<std::uint16_t> sentinel_ports() const;
  /// The port of a server that the Sentinels know.
  [[nodiscard]] std::uint16_t port(std::size_t index) const;

 private:
  void start_servers();
  void start_sentinels();
  [[nodiscard]] std::string guarded_url_at(const std::vector<std::uint16_t>& ports,
                                           std::string_view rest) const;
  [[nodiscard]] std::optional<std::size_t> named_by(redis_server& sentinel);
  [[nodiscard]] std::uint16_t own_port(const redis_server& server) const {
    return settings_.tls ? server.tls_port() : server.port();
  }
  void hurry(redis_server& sentinel);
  [[nodiscard]] std::string clients_of_all();

  settings settings_;
  scratch_folder folder_;
  std::optional<certificates> authority_;
  std::vector<std::unique_ptr<redis_server>> servers_;
  std::vector<std::unique_ptr<fault_proxy>> lines_;
  std::vector<std::unique_ptr<redis_server>> sentinels_;
};

}  // namespace holdfast::test
