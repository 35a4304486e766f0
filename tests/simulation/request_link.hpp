// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "simulation/ledger.hpp"
#include "simulation/line_link.hpp"
#include "simulation/transactions.hpp"

namespace holdfast::sim {

class request_link;

/// The server's end of all links of a world.
class counter {
 public:
  counter() = default;
  counter(const counter&) = delete;
  counter& operator=(const counter&) = delete;
  virtual ~counter() = default;

  using outcome = tickets::link::outcome;

  void begin_world(scene& in, site& at, ledger& account);
  /// Its process ends: what it was at is undone, and forgotten.
  void end_process() { ++process; }

  /// A request has come. \return how long it waits before it is carried out.
  [[nodiscard]] duration admit(const tickets::request& request) const;
  [[nodiscard]] virtual outcome carry_out(const tickets::request& request, const owner_id& client,
                                          std::vector<store::client_notification>& notifications) = 0;
  /// Carries out all of it but the commit.
  virtual void carry_out_in_vain(const tickets::request& /*asked*/, const owner_id& /*client*/) {}

  /// Carries out, accounts for it, and sends the notifications on their ways.
  /// \param late its client has given it up.
  [[nodiscard]] outcome serve(const tickets::request& request, const owner_id& client, bool late);
  [[nodiscard]] outcome carry_out_all(const tickets::request& request, const owner_id& client);
  /// Says no, having changed nothing.
  [[nodiscard]] outcome refuse(const tickets::request& request, const owner_id& client,
                               store::request_error reason);

  /// See simulated_store.
  void notify_all(const store::notification& n);

  scene* in = nullptr;
  site* at = nullptr;
  ledger* account = nullptr;
  bool careless = true;
  transaction_faults* faults = nullptr;  // where there is any
  std::uint32_t process = 0;
  std::vector<request_link*> links;
  std::vector<store::client_notification> notifications;
  std::vector<std::size_t> forgotten;  // names, by the request that was carried out
};

/// Hands whole requests over, for a store that carries them out one by one. A request of a connection that is
/// closed may still be carried out after those of the next one.
class request_link final : public line_link {
 public:
  request_link(counter& to, host& from, line& over, duration reply_limit);
  ~request_link() override;
  request_link(const request_link&) = delete;
  request_link& operator=(const request_link&) = delete;

  [[nodiscard]] bool joins(const std::vector<std::string_view>& /*names*/) const override { return true; }

 private:
  /// A connection as the server has it: one request is carried out after the other.
  struct session {
    std::uint32_t connection = 0;
    instant busy_until{};
  };
  struct request_message final : parcel {
    tickets::request request;
    owner_id from;
    std::shared_ptr<session> over;
    std::uint32_t process = 0;  // that it has come to; zero: not yet
    bool admitted = false;
    bool waited = false;
    outcome answer;
  };
  /// What was sent has come to the server.
  struct arrival {
    request_link* link;  // may be gone by now; the server does not know that
    counter* to;
    line* way;
    std::shared_ptr<request_message> l;

    void operator()();
    void go_on_at(instant when);
    void carry_out();
    void answer() const;
    void break_off() const;
  };
  std::shared_ptr<parcel> pack(tickets::request request) override;
  void dispatch(std::shared_ptr<parcel> p) override;

  counter& to_;
  std::shared_ptr<session> session_;
};

}  // namespace holdfast::sim
