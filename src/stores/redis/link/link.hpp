#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/owner_id.hpp"
#include "core/request.hpp"
#include "runtime/multiplexed_link.hpp"
#include "stores/redis/link/dial.hpp"
#include "stores/redis/link/sentinel/primary_tracker.hpp"
#include "stores/redis/link/settings.hpp"
#include "stores/redis/link/wire.hpp"
#include "stores/redis/protocol/value.hpp"

namespace holdfast::redis {

/// Carries requests to a Redis server, over one multiplexed connection for all commands and notifications of
/// a client. With Sentinels, the server is the primary that they name.
class link final : public runtime::multiplexed_link<tickets::request, tickets::reply, wire> {
 public:
  /// Begins to connect. \throws holdfast::error for certificates that cannot be read.
  link(runtime::event_loop& loop, settings s);
  ~link() override { link::shut(); }
  link(const link&) = delete;
  link& operator=(const link&) = delete;

  void send(tickets::request request, on_reply handler) override;
  void shut() override;

 private:
  /// The messages that were read, by kind.
  struct received {
    std::vector<value> pushes;
    bool surplus = false;  // replies to no request
  };

  // See runtime::multiplexed_connection::protocol and runtime::multiplexed_link.
  [[nodiscard]] std::unique_ptr<wire> connect(int stop) override;
  void on_connected() override;
  void begin_reading() override { read_all(); }
  void read(short ready) override;
  void on_disconnect() override { former_ = connection().wire().take_kill_command(); }
  [[nodiscard]] std::unique_ptr<pending_command> ping() const override;
  [[nodiscard]] std::string place() const override;
  void track(bool on) override;

  // The reader:
  void read_all();
  void handle(std::vector<value> messages);
  [[nodiscard]] received match(std::vector<value> messages);
  [[nodiscard]] bool interpret_replies();

  [[nodiscard]] notifications notifications_in(const std::vector<value>& pushes) const;
  [[nodiscard]] bool has_changes(const std::vector<value>& pushes) const;
  [[nodiscard]] bool is_of_our_keys(const value& invalidation) const;

  const settings settings_;
  const owner_id client_ = owner_id::random();
  std::unique_ptr<tls_context> secure_;
  std::unique_ptr<primary_tracker> tracker_;  // null: the URL names the server itself
  std::vector<value> early_;                  // pushes that came while it connected: the connecting thread's
  std::string former_;        // ends the former connection at the server: the reader's, then that thread's
  std::vector<char> buffer_;  // the reader's
};

}  // namespace holdfast::redis
