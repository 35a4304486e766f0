// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "support/reserved_port.hpp"
#include "support/zookeeper_server.hpp"

namespace holdfast::test {

/// Three ZooKeepers that are one: any two of them serve, unless one is an observer.
class zookeeper_ensemble {
 public:
  static constexpr std::size_t size = 3;

  /// Returns when all three serve; `how` is each one's. \throws std::runtime_error, with a log, when not.
  zookeeper_ensemble() : zookeeper_ensemble(zookeeper_server::settings{}) {}
  explicit zookeeper_ensemble(const zookeeper_server::settings& settings)
      : zookeeper_ensemble{std::array{settings, settings, settings}} {}
  /// Likewise; each has its own, and they reach one another by their hosts.
  explicit zookeeper_ensemble(const std::array<zookeeper_server::settings, size>& settings);

  /// In the order of the URL.
  [[nodiscard]] zookeeper_server& operator[](std::size_t index) { return *members_.at(index); }
  /// Who leads now, or the first to, for at most a minute. \throws std::runtime_error when nobody does.
  [[nodiscard]] zookeeper_server& leader() { return in_mode("leader"); }
  /// Any that follows.
  [[nodiscard]] zookeeper_server& follower() { return in_mode("follower"); }

  /// "127.0.0.1:2181,127.0.0.1:2182,127.0.0.1:2183".
  [[nodiscard]] std::string addresses() const;
  /// A store URL of all; `rest` follows the ports.
  [[nodiscard]] std::string url(std::string_view rest = {}) const;

  /// After some were killed: these start together, and are waited for.
  void start(std::initializer_list<zookeeper_server*> killed);

 private:
  void launch(std::array<zookeeper_server::settings, size> settings);
  zookeeper_server& in_mode(std::string_view mode);

  std::vector<reserved_port> between_;  ///< the servers
  std::array<std::unique_ptr<zookeeper_server>, size> members_;
};

}  // namespace holdfast::test
