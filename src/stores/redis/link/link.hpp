#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/multiplexed_connection.hpp"
#include "stores/redis/link/dial.hpp"
#include "stores/redis/link/settings.hpp"
#include "stores/redis/protocol/request_fsm.hpp"

namespace holdfast::redis {

/// Carries requests to a Redis server, over one connection for all commands and words of a client: a shared
/// line, on which who sends writes to the socket itself.
class link final : public runtime::link_on_line<tickets::request, tickets::reply> {
 public:
  /// Begins to connect. \throws holdfast::error for certificates that cannot be read.
  link(runtime::event_loop& on, settings s);
  ~link() override { shut(); }
  link(const link&) = delete;
  link& operator=(const link&) = delete;

  void send(tickets::request what, on_reply done) override;

 private:
  /// A request, or a command of the link's own, whose answer concerns nobody.
  struct said final : job_for<outcome> {
    std::optional<request_fsm> talk;
    std::string command;
    std::size_t due = 1;
    std::vector<value> replies;
  };

  /// What came in, sorted.
  struct received {
    std::vector<value> pushes;
    bool surplus = false;  // answers that nobody has asked for
  };

  // See multiplexed_connection.
  void reconnect(int stop) override;
  void begin_to_hear() override { read_all(); }
  void hear(short ready) override;
  [[nodiscard]] job_ptr ping() const override;
  void track(bool on) override;
  [[nodiscard]] int descriptor() const override { return wire_->stream->descriptor(); }
  [[nodiscard]] short events() const override;
  void put_on_wire(job& j) override;
  void write_out() override;
  void drop_wire() override;

  // The leader:
  void read_all();
  void take_in(std::vector<value> messages);
  [[nodiscard]] received sort(std::vector<value> messages);
  [[nodiscard]] bool conclude();

  [[nodiscard]] words words_in(const std::vector<value>& pushes) const;
  [[nodiscard]] bool tell_of_change(const std::vector<value>& pushes) const;
  [[nodiscard]] bool concerns_us(const value& invalidation) const;

  const settings settings_;
  const owner_id client_ = owner_id::random();
  std::unique_ptr<tls_context> secure_;

  // With wire_mutex_:
  std::unique_ptr<connection> wire_;  // the leader may read it without the mutex
  std::string out_;                   // what the socket would not take yet
  std::string former_;                // see connection::kill

  std::vector<char> buffer_;  // the leader's
};

}  // namespace holdfast::redis
