// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "stores/quorum/protocol/ballots.hpp"
#include "stores/quorum/protocol/coordinator.hpp"
#include "stores/redis/link/node_link.hpp"
#include "stores/redis/link/settings.hpp"

namespace holdfast::quorum {

/// Carries requests to several servers of Redis that know nothing of each other (Redlock): the coordinator
/// says what is sent to which.
///
/// All servers share one connection_reader. One that cannot be reached is tried again by its node.
class quorum_link final : public redis::node_link, private transport {
 public:
  using on_reply = tickets::link::on_reply;

  /// \param s with the servers in `quorum`. \throws holdfast::error for certificates that cannot be read.
  quorum_link(runtime::event_loop& loop, redis::settings s);
  ~quorum_link() override;
  quorum_link(const quorum_link&) = delete;
  quorum_link& operator=(const quorum_link&) = delete;

  void send(tickets::request request, on_reply handler) override;
  void take_back(std::uint64_t request) override;
  void when_delivered(std::function<void()> action) override {
    coordinator_.when_delivered(std::move(action));
  }
  /// Ends the link's threads. Nothing is delivered afterwards. Idempotent.
  void shut() override;

 private:
  /// One of the servers.
  class server;  // NOLINT(cppcoreguidelines-virtual-class-destructor): it is final

  [[nodiscard]] on_reply awaiting(on_reply handler);
  void track(const store::watched& target, bool on) override;
  void send_to(std::size_t to, ballots::request request, on_reply handler) override;
  void soon(std::function<void()> action) override;
  void notify(const store::notification& n) override { pass_on({n}); }
  void join(std::size_t to, const std::string& set) override;
  void leave(std::size_t to, const std::string& set) override;

  std::vector<std::unique_ptr<server>> servers_;
  coordinator coordinator_;
  bool is_called_ = false;  // under the core lock: whoever calls sends what is queued
};

}  // namespace holdfast::quorum
