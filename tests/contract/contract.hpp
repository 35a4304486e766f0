// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <future>
#include <gmock/gmock.h>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <boost/asio/thread_pool.hpp>
#include <boost/system/system_error.hpp>

#include "contract/stores.hpp"
#include "support/failing.hpp"
#include "support/scratch_folder.hpp"
#include "support/witness.hpp"
#include <holdfast/holdfast.hpp>

namespace holdfast::contract {

using namespace std::chrono_literals;
using test::failure_of;

/// How a test acquires and releases: through the calls that block, or through those of <holdfast/async.hpp>.
enum class flavour { blocking, async };

/// What a test asks for: `exclusive`, `writing`, `shared.at_once()`, `permits(3).within(2s)`.
struct wish {
  holdfast::mode mode = holdfast::mode::exclusive;
  std::ptrdiff_t count = 1;
  std::optional<duration> limit;
  bool among_readers = false;  ///< exclusive, of a shared_mutex

  [[nodiscard]] wish within(duration most) const { return {mode, count, most, among_readers}; }
  [[nodiscard]] wish at_once() const { return within(duration::zero()); }
};
inline constexpr wish exclusive{};
inline constexpr wish writing{mode::exclusive, 1, std::nullopt, true};
inline constexpr wish shared{mode::shared, 1, std::nullopt};
[[nodiscard]] inline wish permits(std::ptrdiff_t count) { return {mode::permits, count, std::nullopt}; }

/// How an acquisition ended: with a lease, with an error, or with neither, when it was held by another.
struct outcome {
  std::error_code code;
  lease held;
};
using pending_outcome = std::future<outcome>;

/// A limit that is over soon. On a machine that stalls it may end before the store has answered: then
/// `answered` calls again.
inline constexpr auto brief_wait = 100ms;
template <class Call>
auto answered(Call call) {
  for (;;) {
    try {
      return call();
    } catch (const std::system_error& failed) {
      if (!test::is_unanswered(failed.code())) throw;
    } catch (const boost::system::system_error& failed) {  // of a future
      if (!test::is_unanswered(failed.code())) throw;
    }
  }
}

/// Waits for what has been started; far longer than it may take, so that only a hang ends the wait.
outcome get(pending_outcome& pending);
[[nodiscard]] inline bool is_pending(const pending_outcome& pending) {
  return pending.wait_for(0s) != std::future_status::ready;
}

/// Someone who wants one name on one client, in one flavour.
class contender {
 public:
  contender(flavour way, boost::asio::thread_pool& loop, client& locks, std::string_view name,
            std::ptrdiff_t capacity, const lock_options& options);

  /// Waits until it has been had, or not.
  outcome take(const wish& request);
  /// Goes on while the test does.
  pending_outcome start(wish request);
  std::error_code release(lease held);
  /// The lease as it is afterwards, with the error if there was one.
  outcome downgrade(lease held);
  /// Of claims that were taken: a test that fails for another reason says them too.
  [[nodiscard]] const std::vector<std::error_code>& problems() const { return problems_; }

 private:
  [[nodiscard]] outcome take_in_flavour(const wish& request);
  [[nodiscard]] outcome take_blocking(const wish& request);

  flavour way_;
  boost::asio::thread_pool& loop_;
  mutex mutex_;
  shared_mutex shared_mutex_;
  counting_semaphore semaphore_;
  std::vector<std::error_code> problems_;
  std::deque<std::jthread> waiting_;  // last: joined before the locks that they wait on go away
};

/// Something that has to be done within a ttl: first within the shortest, and where the machine stood still
/// meanwhile once more, within a longer one.
/// \param in_time does it, and says whether there was the time. Each time it leaves the store as it was.
void within_a_ttl(duration shortest, const std::function<bool(duration ttl)>& in_time);

/// The lease, or the end of the call, that `ask` brings. A lease with a brief ttl may be over when it
/// arrives; where that throws errc::lost, it is asked for again.
template <class Ask>
auto insist(Ask ask) {
  for (;;) {
    try {
      return ask();
    } catch (const error& failed) {
      if (failed.code() != errc::lost) throw;
    }
  }
}

/// See `answered`.
inline outcome take_answered(contender& one, const wish& request) {
  outcome ended = one.take(request);
  while (test::is_unanswered(ended.code)) ended = one.take(request);
  return ended;
}

/// Asks the store again whenever it says that something changed.
class observer {
 public:
  explicit observer(client& locks) : locks_{locks} {}
  /// Whether `seen` came true; false after far longer than that may take.
  bool sees(const std::function<bool()>& seen) const;
  bool sees_waiters(std::string_view name, std::size_t count) const;
  bool sees_holders(std::string_view name, std::size_t count) const;

 private:
  client& locks_;
};

/// What every contract test starts with: an empty store and clients of it. What every one ends with: all
/// clients closed, and nobody holding or waiting any more.
class on_store : public testing::Test {
 protected:
  explicit on_store(const store_kind& kind) : kind_{kind}, store_{kind.start()} {}
  void TearDown() override;

  /// A client of its own; closed at the end of the test.
  client& open(client_options options = {});
  client& one() { return one_ ? *one_ : *(one_ = &open()); }
  client& two() { return two_ ? *two_ : *(two_ = &open()); }
  /// A client that no lock of the test is on.
  client& bystander() { return bystander_ ? *bystander_ : *(bystander_ = &open()); }
  observer look() { return observer{bystander()}; }
  lock_state inspect(std::string_view name) { return bystander().inspect(name).value_or(lock_state{}); }

  contender& in_flavour(flavour way, client& locks, std::string_view name, std::ptrdiff_t capacity,
                        const lock_options& options);

  const store_kind& kind_;
  test::scratch_folder folder_;
  std::unique_ptr<store> store_;
  boost::asio::thread_pool loop_{1};
  std::deque<contender> contenders_;
  std::deque<client> clients_;

 private:
  client* one_ = nullptr;
  client* two_ = nullptr;
  client* bystander_ = nullptr;
};

/// A test that is the same for both flavours.
struct variant {
  store_kind kind;
  flavour way;
};

void PrintTo(const store_kind& kind, std::ostream* out);
void PrintTo(const variant& one, std::ostream* out);

class in_both_flavours : public on_store, public testing::WithParamInterface<variant> {
 protected:
  in_both_flavours() : on_store{GetParam().kind} {}
  contender& by(client& locks, std::string_view name, const lock_options& options = {}) {
    return in_flavour(GetParam().way, locks, name, 1, options);
  }
  contender& by(client& locks, std::string_view name, std::ptrdiff_t capacity) {
    return in_flavour(GetParam().way, locks, name, capacity, {});
  }
};

/// A test of what has only one flavour.
class on_each_store : public on_store, public testing::WithParamInterface<store_kind> {
 protected:
  on_each_store() : on_store{GetParam()} {}
};

using store_filter = bool (*)(const store_kind&);
inline bool any_store(const store_kind&) { return true; }
inline bool across_processes(const store_kind& kind) { return kind.across_processes; }
inline bool has_permits(const store_kind& kind) { return kind.has_permits; }
inline bool breakable(const store_kind& kind) { return kind.breakable; }

/// Where the tests of this fixture run.
std::vector<variant> both_flavours(std::string_view fixture, store_filter wanted);
std::vector<store_kind> each_store(std::string_view fixture, store_filter wanted);
std::string name_of(const testing::TestParamInfo<variant>& info);
std::string name_of_store(const testing::TestParamInfo<store_kind>& info);

}  // namespace holdfast::contract

/// For a test that needs a semaphore, of a fixture that runs on stores without.
#define HOLDFAST_NEEDS_PERMITS() \
  if (!kind_.has_permits) GTEST_SKIP() << "this store has no permits"

/// Runs the tests of a fixture in both flavours, or once, on every store that `FILTER` lets through: as far
/// as store_kind::in_gate says.
#define HOLDFAST_IN_BOTH_FLAVOURS(FIXTURE, FILTER)                                                 \
  GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FIXTURE);                                          \
  INSTANTIATE_TEST_SUITE_P(contract, FIXTURE,                                                      \
                           testing::ValuesIn(holdfast::contract::both_flavours(#FIXTURE, FILTER)), \
                           holdfast::contract::name_of)
#define HOLDFAST_ON_EACH_STORE(FIXTURE, FILTER)                                                 \
  GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FIXTURE);                                       \
  INSTANTIATE_TEST_SUITE_P(contract, FIXTURE,                                                   \
                           testing::ValuesIn(holdfast::contract::each_store(#FIXTURE, FILTER)), \
                           holdfast::contract::name_of_store)
