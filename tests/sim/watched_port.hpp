#pragma once

#include <unordered_set>

#include "sim/host.hpp"
#include "sim/port_shell.hpp"
#include "sim/surroundings.hpp"

namespace holdfast::sim {

/// Sees what a client's core asks of its port, and what it hears: for what has to be true afterwards.
class watched_port final : public port_shell {
 public:
  watched_port(store::port& inner, surroundings& around, host& at)
      : port_shell{inner}, around_{around}, host_{at} {}

  void acquire(store::claim what, store::handler<store::acquired> done) override;
  void cancel(const owner_id& owner) override;
  void renew(std::vector<store::hold> holds, store::handler<store::renewals> done) override;
  void release(store::hold what, store::time_point give_up, store::handler<store::released> done) override;

 private:
  void require_gone(const owner_id& owner);

  surroundings& around_;
  host& host_;
};

/// Holds a client to it that nothing is renewed that it has given back.
class watched_link final : public tickets::link {
 public:
  watched_link(tickets::link& inner, scene& in) : inner_{inner}, in_{in} {}

  void send(tickets::request what, on_reply done) override;
  void on_notices(on_notice told) override { inner_.on_notices(std::move(told)); }
  std::shared_ptr<void> watch(std::function<void()> changed) override {
    return inner_.watch(std::move(changed));
  }
  [[nodiscard]] std::optional<store::time_point> session_until() const override {
    return inner_.session_until();
  }
  bool drive() override { return inner_.drive(); }
  void kick() override { inner_.kick(); }
  void help(store::caller& who) override { inner_.help(who); }

 private:
  tickets::link& inner_;
  scene& in_;
  std::unordered_set<owner_id> given_back_;
};

}  // namespace holdfast::sim
