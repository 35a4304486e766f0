// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/link.hpp"
#include "core/port.hpp"
#include "core/request.hpp"
#include "runtime/driver.hpp"
#include "simulation/host.hpp"
#include "simulation/surroundings.hpp"

namespace holdfast::sim {

/// Holds a client to it that nothing is renewed that it has given back, and that who waits looks as soon as
/// there is a connection again.
class watched_link final : public tickets::link {
 public:
  watched_link(tickets::link& inner, scene& in, const ledger& account);

  void send(tickets::request request, on_reply done) override;
  void take_back(std::uint64_t request) override { inner_.take_back(request); }
  [[nodiscard]] bool joins(const std::vector<std::string_view>& names) const override {
    return inner_.joins(names);
  }
  void on_gap(const std::function<void()>& missed) override { missed_ = missed; }
  void on_notifications(on_notification handler) override { inner_.on_notifications(std::move(handler)); }
  std::shared_ptr<void> watch(store::watched target, std::function<void()> changed) override {
    return inner_.watch(std::move(target), std::move(changed));
  }
  [[nodiscard]] std::optional<store::time_point> session_until() const override {
    return inner_.session_until();
  }
  void on_session(const std::function<void()>& extended) override { inner_.on_session(extended); }
  bool drive() override { return inner_.drive(); }
  void kick() override { inner_.kick(); }
  void help(store::caller& caller) override { inner_.help(caller); }
  /// Whether the store has refused it a request so that no other try is worth it.
  [[nodiscard]] bool is_refused(const owner_id& owner) const { return refused_.contains(owner); }

 private:
  void heard(const owner_id& owner, bool claims, const outcome& o);
  void require_looks();

  tickets::link& inner_;
  scene& in_;
  const ledger& account_;
  std::function<void()> missed_;
  std::unordered_set<owner_id> given_back_;
  std::unordered_set<owner_id> refused_;
  std::set<owner_id> waiting_;  // who has a place in a queue, and no request under way
};

/// Sees what a client's core asks of its port, and what it hears: for what has to be true afterwards.
class watched_port final : public runtime::driver {
 public:
  watched_port(surroundings& around, host& at, watched_link& over)
      : driver{at, over}, around_{around}, host_{at}, over_{over} {}

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
