#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "protocol/tickets/request.hpp"
#include "sim/ledger.hpp"
#include "sim/line.hpp"
#include "sim/standing.hpp"

namespace holdfast::sim {

class parcel_link;

/// The server's end of all links of a world.
class counter {
 public:
  counter() = default;
  counter(const counter&) = delete;
  counter& operator=(const counter&) = delete;
  virtual ~counter() = default;

  [[nodiscard]] virtual tickets::reply carry_out(const tickets::request& asked, const owner_id& client,
                                                 std::vector<word>& words) = 0;

  /// Carries out, accounts for it, and sends the words on their ways.
  [[nodiscard]] tickets::reply serve(const tickets::request& asked, const owner_id& client, bool late);

  scene* in = nullptr;
  ledger* account = nullptr;
  bool careless = true;
  std::vector<parcel_link*> links;
  std::vector<word> words;
};

/// A link that hands whole requests over a line, for stores that carry them out one by one.
///
/// It keeps the promises of store::link: in order, always answered, `unknown` wherever the client cannot
/// know.
class parcel_link final : public tickets::link {
 public:
  parcel_link(counter& to, host& from, line& over, duration patience);
  ~parcel_link() override;
  parcel_link(const parcel_link&) = delete;
  parcel_link& operator=(const parcel_link&) = delete;

  void send(tickets::request what, on_reply done) override;
  void on_notices(on_notice told) override { told_ = std::move(told); }
  std::shared_ptr<void> watch(std::function<void()>) override { return nullptr; }
  bool drive() override { return false; }
  void kick() override {}
  void help(store::caller& /*who*/) override {}

  [[nodiscard]] const owner_id& address() const { return address_; }
  /// A word on its way: late, perhaps twice, perhaps never.
  void hear(const word& w);

 private:
  struct parcel {
    tickets::request what;
    on_reply done;
    owner_id from;
    instant sent;
    tickets::reply answer;
    bool given_up = false;
  };

  void on_cut();
  void watch_the_oldest();
  void deliver(const std::shared_ptr<parcel>& p);

  counter& to_;
  scene& in_;
  host& from_;
  line& over_;
  duration patience_;
  owner_id address_;
  on_notice told_;
  std::deque<std::shared_ptr<parcel>> open_;
  bool watching_ = false;
};

}  // namespace holdfast::sim
