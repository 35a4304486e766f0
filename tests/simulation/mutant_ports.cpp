#include "simulation/mutant_ports.hpp"

#include <chrono>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "simulation/port_shell.hpp"

namespace holdfast::sim {

namespace {

using namespace std::chrono_literals;

/// Counts what a lease is worth from the answer instead of the request.
class late_dater final : public port_shell {
 public:
  late_dater(store::port& inner, const store::scheduler& time) : port_shell{inner}, time_{time} {}
  void acquire(store::claim_ptr claim, store::handler<store::acquired> done) override {
    port_shell::acquire(std::move(claim), [this, done = std::move(done)](store::acquired result) {
      if (auto* grant = std::get_if<store::granted>(&result)) grant->valid_from = time_.now();
      done(std::move(result));
    });
  }
  void renew(std::vector<store::hold> holds, store::time_point answer_by,
             store::handler<store::renewals> done) override {
    port_shell::renew(std::move(holds), answer_by, [this, done = std::move(done)](store::renewals each) {
      each.sent = time_.now();
      done(std::move(each));
    });
  }

 private:
  const store::scheduler& time_;
};

/// Tells a claim that may be granted yet that it has failed.
class certain_port final : public port_shell {
 public:
  using port_shell::port_shell;
  void acquire(store::claim_ptr claim, store::handler<store::acquired> done) override {
    port_shell::acquire(std::move(claim), [done = std::move(done)](store::acquired result) {
      auto* const failed = std::get_if<failure>(&result);
      if (failed != nullptr && failed->code == errc::unknown_outcome) failed->code = errc::unavailable;
      done(std::move(result));
    });
  }
};

/// Answers each look with what the one before has seen.
class forgetful_reader final : public port_shell {
 public:
  using port_shell::port_shell;
  void inspect(std::string name, std::size_t most_waiters, store::time_point give_up,
               store::handler<store::inspected> done) override {
    port_shell::inspect(name, most_waiters, give_up,
                        [this, name, done = std::move(done)](store::inspected answer) {
                          const auto [former, is_first] = former_.try_emplace(name, answer);
                          if (is_first) return done(std::move(answer));
                          done(std::exchange(former->second, std::move(answer)));
                        });
  }

 private:
  std::unordered_map<std::string, store::inspected> former_;
};

/// Goes on renewing what was given back.
class faithful_port final : public port_shell {
 public:
  faithful_port(store::port& inner, store::scheduler& time) : port_shell{inner}, time_{time} {}
  void release(store::hold hold, store::time_point give_up, store::handler<store::released> done) override {
    time_.at(time_.now() + hold.ttl / 3,
             [this, hold] { port_shell::renew({hold}, time_.now() + hold.ttl, [](auto) {}); });
    port_shell::release(std::move(hold), give_up, std::move(done));
  }

 private:
  store::scheduler& time_;
};

/// Never asks again for what it once got no answer to.
class faint_hearted_port final : public port_shell {
 public:
  using port_shell::port_shell;
  void renew(std::vector<store::hold> holds, store::time_point answer_by,
             store::handler<store::renewals> done) override {
    for (const store::hold& h : holds) {
      if (deserted_.contains(h.owner)) return;
    }
    port_shell::renew(holds, answer_by, [this, holds, done = std::move(done)](store::renewals each) {
      for (std::size_t i = 0; i < holds.size(); ++i) {
        if (each.each[i] == store::renewed::unknown) deserted_.insert(holds[i].owner);
      }
      done(std::move(each));
    });
  }

 private:
  std::unordered_set<owner_id> deserted_;
};

/// Forgets who cancels, and leaves what they asked for in the queue.
class forgetful_port final : public port_shell {
 public:
  using port_shell::port_shell;
  void acquire(store::claim_ptr claim, store::handler<store::acquired> done) override {
    const owner_id owner = claim->owner;
    port_shell::acquire(std::move(claim), [this, owner, done = std::move(done)](store::acquired result) {
      if (!cancelled_.contains(owner)) done(std::move(result));
    });
  }
  void cancel(const owner_id& owner) override { cancelled_.insert(owner); }

 private:
  std::unordered_set<owner_id> cancelled_;
};

/// Compares the deadline with the time at which a renewal was sent, instead of the time at which its answer
/// came.
class stale_clock final : public store::scheduler {
 public:
  explicit stale_clock(host& inner) : inner_{inner} {}
  [[nodiscard]] store::time_point now() const override { return reads.value_or(inner_.now()); }
  [[nodiscard]] std::uint64_t random() override { return inner_.random(); }
  [[nodiscard]] owner_id new_owner() override { return inner_.new_owner(); }
  timer at(store::time_point when, std::function<void()> action) override {
    return inner_.at(when, std::move(action));
  }
  void cancel(timer which) override { inner_.cancel(which); }
  void defer_callback(std::function<void()> action) override { inner_.defer_callback(std::move(action)); }

  std::optional<store::time_point> reads;

 private:
  host& inner_;
};
class stale_port final : public port_shell {
 public:
  stale_port(store::port& inner, stale_clock& time) : port_shell{inner}, time_{time} {}
  void renew(std::vector<store::hold> holds, store::time_point answer_by,
             store::handler<store::renewals> done) override {
    port_shell::renew(std::move(holds), answer_by + 1h, [this, done = std::move(done)](store::renewals each) {
      const auto sent = each.sent;
      at(sent, [&] { done(std::move(each)); });
    });
  }
  void on_session(const std::function<void()>& extended) override {
    if (!extended) return port_shell::on_session(extended);
    port_shell::on_session([this, extended] { at(store::time_point::min(), extended); });
  }

 private:
  template <class Function>
  void at(store::time_point when, Function f) {
    time_.reads = when;
    f();
    time_.reads.reset();
  }

  stale_clock& time_;
};

/// Gives a release up that has not got through at once.
class hasty_port final : public port_shell {
 public:
  hasty_port(store::port& inner, const store::scheduler& time) : port_shell{inner}, time_{time} {}
  void release(store::hold hold, store::time_point /*give_up*/,
               store::handler<store::released> done) override {
    port_shell::release(std::move(hold), time_.now(), std::move(done));
  }

 private:
  const store::scheduler& time_;
};

/// Where a hold rests, and where it does not.
class restless_port final : public port_shell {
 public:
  restless_port(mutant which, store::port& inner, const store::scheduler& time)
      : port_shell{inner}, which_{which}, time_{time} {}
  void acquire(store::claim_ptr claim, store::handler<store::acquired> done) override {
    store::claim c = *claim;
    if (which_ == mutant::grace_forgotten) c.grace = {};
    if (c.grace != duration::zero()) graces_[c.owner] = c.grace;
    port_shell::acquire(std::make_shared<const store::claim>(std::move(c)), std::move(done));
  }
  void release(store::hold hold, store::time_point give_up, store::handler<store::released> done) override {
    const auto found = graces_.find(hold.owner);
    if (found == graces_.end() || which_ != mutant::grace_delays_release) {
      return port_shell::release(std::move(hold), give_up, std::move(done));
    }
    port_shell::expire_at(std::move(hold), time_.now() + found->second, give_up, std::move(done));
  }
  void expire_at(store::hold hold, store::time_point until, store::time_point give_up,
                 store::handler<store::released> done) override {
    if (which_ == mutant::at_least_forgotten) return release(std::move(hold), give_up, std::move(done));
    port_shell::expire_at(std::move(hold), until, give_up, std::move(done));
  }

 private:
  const mutant which_;
  const store::scheduler& time_;
  std::unordered_map<owner_id, duration> graces_;
};

}  // namespace

spoiled_seams spoiled_core(mutant which, host& at, store::port& inner) {
  spoiled_seams s;
  switch (which) {
    case mutant::validity_from_reply: s.port = std::make_unique<late_dater>(inner, at); break;
    case mutant::former_look_shown: s.port = std::make_unique<forgetful_reader>(inner); break;
    case mutant::unknown_means_failed: s.port = std::make_unique<certain_port>(inner); break;
    case mutant::keeper_outlives_unlock: s.port = std::make_unique<faithful_port>(inner, at); break;
    case mutant::keeper_gives_up: s.port = std::make_unique<faint_hearted_port>(inner); break;
    case mutant::cancel_keeps_ticket: s.port = std::make_unique<forgetful_port>(inner); break;
    case mutant::late_answer_renews: {
      auto clock = std::make_unique<stale_clock>(at);
      s.port = std::make_unique<stale_port>(inner, *clock);
      s.time = std::move(clock);
      break;
    }
    case mutant::grace_delays_release:
    case mutant::grace_forgotten:
    case mutant::at_least_forgotten: s.port = std::make_unique<restless_port>(which, inner, at); break;
    case mutant::release_not_repeated: s.port = std::make_unique<hasty_port>(inner, at); break;
    default: break;
  }
  return s;
}

}  // namespace holdfast::sim
