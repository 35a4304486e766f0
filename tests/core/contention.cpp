// Several clients, all of the core of each, contend for one name at one store, under faults. Whatever gets
// lost, at most one believes in a conflicting hold, and in the end everything is given back.

#include <algorithm>
#include <deque>
#include <gtest/gtest.h>
#include <set>

#include "core/describe.hpp"
#include "core/faulty_link.hpp"
#include "core/questions.hpp"
#include "lease/lease_manager.hpp"
#include "runtime/driver.hpp"

namespace holdfast {
namespace {

using namespace test;
using lease_core::lease_record_ptr;
using lease_core::taken;

constexpr duration ttl = 1s;
constexpr duration drift_margin = 12ms;

/// What all clients believe, and have believed.
class witness {
 public:
  explicit witness(const virtual_time& time) : time_{time} {}

  void granted(const lease_record_ptr& lease) {
    ++grants;
    const auto now = time_.now();
    std::erase_if(held_, [&](const lease_record_ptr& other) { return !other->held_at(now); });
    for (const lease_record_ptr& other : held_) {
      const bool both_read = other->mode() == mode::shared && lease->mode() == mode::shared;
      EXPECT_TRUE(both_read) << "tokens " << other->hold.token.value() << " and " << lease->hold.token.value()
                             << " are believed at once";
      if (!both_read) {
        EXPECT_GT(lease->hold.token, other->hold.token);
      }
    }
    EXPECT_TRUE(tokens_.insert(lease->hold.token).second) << "granted twice";
    held_.push_back(lease);
  }
  void lost(const lease_record_ptr& lease) const {
    EXPECT_LE(time_.now(), lease->deadline()) << "told too late";
  }

  int grants = 0;

 private:
  const virtual_time& time_;
  std::vector<lease_record_ptr> held_;
  std::set<fencing_token> tokens_;
};

/// A client with a user who locks, works, unlocks; or loses patience, or the network.
class contender {
 public:
  contender(virtual_time& time, faulty_store& to, witness& sees, std::uint8_t number)
      : time_{time}, sees_{sees}, number_{number}, link_{time, to, id(number)} {}

  void live() {
    after(any(0ms, 300ms), [this] { claim(); });
  }
  /// Finishes what it is at, and begins nothing more.
  void retire() { retired_ = true; }
  void close() { book_.close(); }
  [[nodiscard]] bool waits() const { return waits_; }
  [[nodiscard]] std::size_t busy() const { return port_.busy(); }

 private:
  [[nodiscard]] duration any(duration least, duration most) {
    const auto span = static_cast<std::uint64_t>((most - least).count()) + 1;
    return least + duration{static_cast<std::int64_t>(time_.random() % span)};
  }
  [[nodiscard]] bool one_in(std::uint64_t n) { return time_.random() % n == 0; }
  void after(duration d, std::function<void()> action) { time_.at(time_.now() + d, std::move(action)); }

  void claim() {
    if (retired_) return;
    if (one_in(8)) link_.cut_until(time_.now() + any(100ms, 4s));
    store::claim w = a_claim();
    owner_id::bytes_type bytes{};
    bytes[0] = number_;
    bytes[1] = static_cast<std::uint8_t>(++claims_);
    bytes[2] = static_cast<std::uint8_t>(claims_ >> 8U);
    w.owner = owner_id{bytes};
    w.ttl = ttl;
    w.mode = one_in(3) ? mode::shared : mode::exclusive;
    w.wait = !one_in(10);
    w.margin = drift_margin;
    w.renews = !one_in(6);
    std::optional<store::time_point> limit;
    if (one_in(2)) limit = time_.now() + any(10ms, 3s);
    waits_ = true;
    const auto which =
        book_.acquire(std::make_shared<const store::claim>(w), limit, [this](taken t) { on_taken(t); });
    if (one_in(6))
      after(any(0ms, 1s), [this, which] { operations_.cancel(which, {errc::cancelled, "cancelled"}); });
  }
  void on_taken(const taken& t) {
    waits_ = false;
    if (const auto* lease = std::get_if<lease_record_ptr>(&t)) {
      sees_.granted(*lease);
      after(any(0ms, 1500ms), [this, lease = *lease] { book_.release(lease, nullptr); });
    }
    live();
  }

  virtual_time& time_;
  witness& sees_;
  std::uint8_t number_;
  faulty_link link_;
  runtime::driver port_{time_, link_};
  lease_core::operations operations_;
  lease_core::lease_manager book_{time_, port_, operations_, [this](const lease_record_ptr& lease) {
                                    sees_.lost(lease);
                                    if (lease->reason == errc::closed) return;
                                    time_.defer_callback([this, lease] { book_.after_loss(lease); });
                                  }};
  std::uint32_t claims_ = 0;
  bool waits_ = false;
  bool retired_ = false;
};

tickets::request inspection() {
  request_form r;
  r.kind = task::inspect;
  r.name = a_claim().name;
  return r;
}

/// \return how many grants there were.
int run(std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  virtual_time time{seed};
  faulty_store store;
  witness sees{time};
  std::deque<contender> all;
  for (std::uint8_t i = 1; i <= 5; ++i) all.emplace_back(time, store, sees, i).live();
  time.run_for(30s);
  store.fair = true;
  for (contender& c : all) c.retire();
  // Everybody who waits is served, whatever happened before: each holds for 1.5 s at most.
  time.run_for(15s);
  for (const contender& c : all) EXPECT_FALSE(c.waits()) << "waits for ever";
  for (contender& c : all) c.close();
  time.run_for(3s);
  for (const contender& c : all) EXPECT_EQ(c.busy(), 0U);
  std::vector<store::client_notification> none;
  const auto state =
      std::get<std::optional<lock_state>>(store.table.carry_out(inspection(), id(1), time.now(), 0, none));
  EXPECT_TRUE(state && state->holders.empty() && state->waiters.empty()) << describe(state);
  EXPECT_EQ(time.timers(), 0U) << "nothing is left to wake up for";
  return sees.grants;
}

TEST(contention, under_faults_lets_nobody_in_beside_another) {
  int grants = 0;
  for (std::uint64_t seed = 1; seed <= 300 && !HasFailure(); ++seed) grants += run(seed);
  EXPECT_GT(grants, 3000) << "there were so many faults that nothing was tested";
}

}  // namespace
}  // namespace holdfast
