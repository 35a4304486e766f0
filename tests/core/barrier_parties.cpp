// The parties of a barrier, with the core of each, at one store and under faults: requests, replies and
// notifications are lost, limits are over, leases end, parties come anew. Whatever happens, no party passes a
// phase before all have arrived there; and when the faults end, all go on.

#include <algorithm>
#include <deque>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/metadata.hpp"
#include "core/faulty_link.hpp"
#include "lease/rendezvous.hpp"
#include "runtime/driver.hpp"

namespace holdfast {
namespace {

using namespace test;
using lease_core::lease_record_ptr;
using lease_core::rendezvous;

constexpr std::size_t parties = 3;
constexpr std::uint64_t worlds = 60;
constexpr duration ttl = 1s;
constexpr duration drift_margin = 12ms;

/// A fault that is put in on purpose.
enum class mutant : std::uint8_t {
  none,
  claims_for_parties,  // two claims of one party count twice
  no_phases,           // a claim does not say of which phase it is
};

/// What the parties have asked of the store, and what they believe.
struct witness {
  mutant with = mutant::none;
  std::map<std::uint64_t, std::set<std::size_t>> arrived;  // who has ever arrived at a phase
  int passed_too_early = 0;
};

/// Tells the witness of arrivals before they reach the store.
class observed_link final : public store::link<tickets::request, tickets::reply> {
 public:
  observed_link(virtual_time& time, faulty_store& to, const owner_id& client, witness& sees,
                std::size_t party)
      : time_{time}, store_{to}, inner_{time, to, client}, sees_{sees}, party_{party} {}

  void send(tickets::request request, on_reply done) override {
    if (request.kind == tickets::task::acquire) observe(request);
    // What is withdrawn stays for long: a party has claims of two calls then.
    if (request.kind == tickets::task::withdraw && !store_.fair && time_.random() % 8 != 0) {
      time_.at(time_.now() + 20ms, [done = std::move(done)] { done(retryable); });
      return;
    }
    inner_.send(std::move(request), std::move(done));
  }
  void on_notifications(on_notification handler) override { inner_.on_notifications(std::move(handler)); }
  std::shared_ptr<void> watch(store::watched, std::function<void()>) override { return nullptr; }
  void help(store::caller&) override {}
  bool drive() override { return false; }
  void kick() override {}
  void cut_until(store::time_point when) { inner_.cut_until(when); }

 private:
  void observe(tickets::request& request) {
    claimant self = from_metadata(*request.metadata);
    auto attendance = store::attendance_in(self.value.value()).value();
    if (attendance.stands_for == store::attendance::kind::arrived)
      sees_.arrived[attendance.phase].insert(party_);
    if (sees_.with == mutant::claims_for_parties) attendance.party = owner_id::random();
    if (sees_.with == mutant::no_phases) attendance.phase = 0;
    self.value = store::to_value(attendance);
    request.metadata = std::make_shared<const std::string>(to_metadata(self));
  }

  virtual_time& time_;
  faulty_store& store_;
  faulty_link inner_;
  witness& sees_;
  std::size_t party_;
};

class party {
 public:
  party(virtual_time& time, faulty_store& to, witness& sees, std::size_t number)
      : time_{time},
        sees_{sees},
        number_{number},
        link_{time, to, id(static_cast<std::uint8_t>(number + 1)), sees, number} {
    come_anew();
    later(any(0ms, 300ms));
  }
  [[nodiscard]] std::uint64_t passed() const { return passed_; }

 private:
  [[nodiscard]] duration any(duration least, duration most) {
    const auto span = static_cast<std::uint64_t>((most - least).count()) + 1;
    return least + duration{static_cast<std::int64_t>(time_.random() % span)};
  }
  [[nodiscard]] bool one_in(std::uint64_t n) { return time_.random() % n == 0; }
  void later(duration d) {
    time_.at(time_.now() + d, [this] { arrive(); });
  }

  void come_anew() {
    at_ = std::make_shared<rendezvous>();
    at_->kind = rendezvous::type::barrier;
    at_->expected = parties;
    store::claim& c = at_->terms.claim;
    c.name = "round";
    c.mode = mode::permits;
    c.capacity = parties * 1000;
    c.ttl = ttl;
    c.wait = true;
    at_->terms.margin = drift_margin;
  }
  void arrive() {
    if (one_in(8)) link_.cut_until(time_.now() + any(100ms, 3s));
    // Only between two phases: the arrival of one that goes may count until it is withdrawn, or its ttl ends.
    if (has_passed_ && one_in(8)) {
      calls_.leave(at_);
      come_anew();
    }
    lease_core::rendezvous_call call;
    if (one_in(3)) call.until = time_.now() + any(0ms, 600ms);
    const auto which =
        calls_.start(at_, call, [this](const lease_core::arrived& result) { on_arrived(result); });
    if (one_in(8)) time_.at(time_.now() + any(0ms, 600ms), [this, which] { calls_.cancel(which); });
    if (one_in(8)) time_.at(time_.now() + any(0ms, 60ms), [this, which] { calls_.cancel(which); });
  }
  void on_arrived(const lease_core::arrived& result) {
    const auto* const seen = std::get_if<arrivals>(&result);
    has_passed_ = seen != nullptr && seen->is_complete();
    if (has_passed_) {
      ++passed_;
      if (sees_.arrived[seen->phase].size() < parties) ++sees_.passed_too_early;
    }
    later(any(0ms, 200ms));
  }

  virtual_time& time_;
  witness& sees_;
  std::size_t number_;
  observed_link link_;
  runtime::driver port_{time_, link_};
  lease_core::lease_manager leases_{time_, port_, [this](const lease_record_ptr& lease) {
                                      calls_.lost(lease);
                                      time_.defer_callback([this, lease] { leases_.after_loss(lease); });
                                    }};
  lease_core::rendezvous_calls calls_{time_, port_, leases_};
  lease_core::rendezvous_ptr at_;
  std::uint64_t passed_ = 0;
  bool has_passed_ = false;  // with the last call
};

struct run_result {
  int passed_too_early = 0;
  bool all_go_on = false;
  std::uint64_t phases = 0;
};

run_result run(std::uint64_t seed, mutant with = mutant::none) {
  virtual_time time{seed};
  faulty_store store;
  witness sees;
  sees.with = with;
  std::deque<party> all;
  for (std::size_t each = 0; each < parties; ++each) all.emplace_back(time, store, sees, each);
  time.run_for(60s);
  store.fair = true;
  time.run_for(10s);
  std::vector<std::uint64_t> before;
  for (const party& each : all) before.push_back(each.passed());
  time.run_for(60s);
  run_result result;
  result.passed_too_early = sees.passed_too_early;
  result.all_go_on = true;
  for (std::size_t each = 0; each < parties; ++each) {
    result.all_go_on = result.all_go_on && all[each].passed() >= before[each] + 5;
    result.phases = std::max(result.phases, all[each].passed());
  }
  return result;
}

/// A part of the worlds each: under a sanitizer all of them take a minute.
class barrier_parties_in_worlds : public testing::TestWithParam<std::uint64_t> {};

constexpr std::uint64_t worlds_in_part = 15;

TEST_P(barrier_parties_in_worlds, pass_no_phase_before_all_have_arrived) {
  std::uint64_t phases = 0;
  for (std::uint64_t each = 0; each < worlds_in_part; ++each) {
    const std::uint64_t seed = GetParam() + each;
    const auto result = run(seed);
    EXPECT_EQ(result.passed_too_early, 0) << "seed " << seed;
    EXPECT_TRUE(result.all_go_on) << "seed " << seed;
    phases += result.phases;
  }
  EXPECT_GT(phases, 20 * worlds_in_part) << "the worlds are too unfriendly to show anything";
}

INSTANTIATE_TEST_SUITE_P(from_seed, barrier_parties_in_worlds,
                         testing::Range<std::uint64_t>(1, worlds + 1, worlds_in_part));

/// \return whether one of the worlds shows the fault.
bool is_found(mutant with) {
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    const auto result = run(seed, with);
    if (result.passed_too_early != 0 || !result.all_go_on) return true;
  }
  return false;
}

TEST(barrier_parties, have_mutants_that_are_found) {
  EXPECT_TRUE(is_found(mutant::claims_for_parties));
  EXPECT_TRUE(is_found(mutant::no_phases));
}

}  // namespace
}  // namespace holdfast
