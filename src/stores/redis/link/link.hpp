// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "core/request.hpp"
#include "stores/redis/link/node.hpp"
#include "stores/redis/link/node_link.hpp"
#include "stores/redis/link/sentinel/primary_tracker.hpp"
#include "stores/redis/link/settings.hpp"

namespace holdfast::redis {

/// Carries requests to a Redis server, over one multiplexed connection for all commands and notifications of
/// a client. With Sentinels, the server is the primary that they name.
class link final : public node_link, private node::parent {
 public:
  /// Begins to connect. \throws holdfast::error for certificates that cannot be read.
  link(runtime::event_loop& loop, settings s);
  ~link() override { shut(); }
  link(const link&) = delete;
  link& operator=(const link&) = delete;

  void send(tickets::request request, on_reply handler) override;
  void take_back(std::uint64_t request) override { server_.take_back(request); }
  [[nodiscard]] bool joins(const std::vector<std::string_view>& /*names*/) const override { return true; }
  void help(store::caller& caller) override { server_.help(caller); }
  bool drive() override {
    server_.flush();
    return false;
  }
  void kick() override { server_.kick(); }
  /// Ends the link's threads. Nothing is delivered afterwards. Idempotent.
  void shut() override;

 private:
  // See node::parent.
  [[nodiscard]] connection connect(node& to, int stop) override;
  void on_connected(node& to, bool again) override;
  void on_received(const notifications& received) override { pass_on(received); }
  void on_changes(const changes& of) override { ring_for(of, watchers()); }
  [[nodiscard]] std::string place() const override {
    return tracker_ ? tracker_->place_of_primary() : std::string{};
  }
  [[nodiscard]] std::string advice_on_replica() const override {
    return tracker_ ? "" : "; the store's URL has to lead to the primary";
  }

  void track(const store::watched& target, bool on) override { server_.track(target, on); }

  std::unique_ptr<primary_tracker> tracker_;  // null: the URL names the server itself
  node server_;
};

}  // namespace holdfast::redis
