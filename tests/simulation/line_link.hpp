// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "core/link.hpp"
#include "core/request.hpp"
#include "simulation/line.hpp"
#include "simulation/standing.hpp"

namespace holdfast::sim {

/// The client's end of a line, whatever goes over it: a link that keeps the promises of tickets::link, in
/// order, always answered, `unknown` wherever the client cannot know.
class line_link : public tickets::link {
 public:
  line_link(scene& in, host& from, line& over, duration reply_limit);
  ~line_link() override;
  line_link(const line_link&) = delete;
  line_link& operator=(const line_link&) = delete;

  void send(tickets::request request, on_reply done) final;
  void on_notifications(on_notification handler) final { on_notification_ = std::move(handler); }
  void on_gap(const std::function<void()>& missed) final { missed_ = missed; }
  std::shared_ptr<void> watch(store::watched /*target*/, std::function<void()> /*changed*/) final {
    return nullptr;
  }
  void help(store::caller& /*who*/) final {}
  bool drive() final { return false; }
  void kick() final {}

  /// Of this client, as the store knows it; of this life of its process alone.
  [[nodiscard]] const owner_id& address() const { return address_; }
  /// A notification on its way. \param careless it comes late, perhaps twice, perhaps never.
  void receive(const store::notification& n, bool careless);

 protected:
  struct parcel {
    parcel() = default;
    parcel(const parcel&) = delete;
    parcel& operator=(const parcel&) = delete;
    virtual ~parcel() = default;

    on_reply done;
    instant sent{};
    bool given_up = false;
  };
  [[nodiscard]] virtual std::shared_ptr<parcel> pack(tickets::request request) = 0;
  void send(std::shared_ptr<parcel> p, on_reply done);
  /// Puts it on the line, which is up.
  virtual void dispatch(std::shared_ptr<parcel> p) = 0;
  /// There is a new connection.
  virtual void begin_connection() {}
  void deliver(const std::shared_ptr<parcel>& p, outcome o);
  void deliver(store::notification n) {
    n.position.message = next_message();
    on_notification_(n);
  }
  /// The number of a message that has come.
  [[nodiscard]] std::uint64_t next_message() { return ++messages_; }

  scene& in_;
  host& from_;
  line& over_;

 private:
  void on_cut();
  void on_connected();
  void watch_the_oldest();

  duration reply_limit_;
  owner_id address_;
  on_notification on_notification_;
  std::function<void()> missed_;
  bool had_connection_ = false;
  std::deque<std::shared_ptr<parcel>> open_;
  bool watching_ = false;
  std::uint64_t messages_ = 0;
};

}  // namespace holdfast::sim
