#pragma once

#include <unordered_set>

#include "sim/host.hpp"
#include "sim/link_shell.hpp"
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
class watched_link final : public link_shell {
 public:
  watched_link(tickets::link& inner, scene& in) : link_shell{inner}, in_{in} {}

  void send(tickets::request what, on_reply done) override;

 private:
  scene& in_;
  std::unordered_set<owner_id> given_back_;
};

}  // namespace holdfast::sim
