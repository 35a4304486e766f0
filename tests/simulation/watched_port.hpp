#pragma once

#include <functional>
#include <memory>
#include <set>
#include <unordered_set>

#include "simulation/host.hpp"
#include "simulation/link_shell.hpp"
#include "simulation/port_shell.hpp"
#include "simulation/surroundings.hpp"

namespace holdfast::sim {

/// Holds a client to it that nothing is renewed that it has given back, and that who waits looks as soon as
/// there is a connection again.
class watched_link final : public link_shell {
 public:
  watched_link(tickets::link& inner, scene& in, const ledger& account);

  void send(tickets::request request, on_reply done) override;
  void on_gap(const std::function<void()>& missed) override { missed_ = missed; }
  /// Whether the store has refused it a request so that no other try is worth it.
  [[nodiscard]] bool is_refused(const owner_id& owner) const { return refused_.contains(owner); }

 private:
  void heard(const owner_id& owner, bool claims, const outcome& o);
  void require_looks();

  scene& in_;
  const ledger& account_;
  std::function<void()> missed_;
  std::unordered_set<owner_id> given_back_;
  std::unordered_set<owner_id> refused_;
  std::set<owner_id> waiting_;  // who has a place in a queue, and no request under way
};

/// Sees what a client's core asks of its port, and what it hears: for what has to be true afterwards.
class watched_port final : public port_shell {
 public:
  watched_port(store::port& inner, surroundings& around, host& at, const watched_link& over)
      : port_shell{inner}, around_{around}, host_{at}, over_{over} {}

  void acquire(store::claim_ptr claim, store::handler<store::acquired> done) override;
  void cancel(const owner_id& owner) override;
  void renew(std::vector<store::hold> holds, store::time_point answer_by,
             store::handler<store::renewals> done) override;
  void expire_at(store::hold hold, store::time_point until, store::time_point give_up,
                 store::handler<store::released> done) override;
  void release(store::hold hold, store::time_point give_up, store::handler<store::released> done) override;
  void on_session(const std::function<void()>& extended) override;

 private:
  void require_gone(const owner_id& owner);
  /// Whether nothing has hindered the client and the store since then, nor ended a hold of the name.
  [[nodiscard]] bool is_calm(const store::hold& hold, instant since) const;

  surroundings& around_;
  host& host_;
  const watched_link& over_;
};

}  // namespace holdfast::sim
