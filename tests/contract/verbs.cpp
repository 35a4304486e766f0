// SPDX-License-Identifier: Apache-2.0
// Every form of every acquiring verb, on every lock type: a form that is missing does not compile, and one
// that behaves unlike its siblings fails.

#include <functional>
#include <future>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_future.hpp>

#include "contract/contract.hpp"
#include <holdfast/async.hpp>

namespace holdfast::contract {
namespace {

namespace asio = boost::asio;
using std::chrono::steady_clock;

/// How a form waits for a name that another holds.
struct waiting_rule {
  bool queued = true;
  bool limited = false;
  bool stoppable = false;
};
constexpr waiting_rule unlimited{};
constexpr waiting_rule until_stopped{true, false, true};
constexpr waiting_rule once{false, true, false};
constexpr waiting_rule limited{true, true, true};
constexpr waiting_rule limited_async{true, true, false};

/// One function of a lock type. The call returns a lease, an inert one where the hold is kept in the object,
/// or nothing.
struct form {
  std::string name;
  waiting_rule wait;
  bool keeps = false;
  std::function<std::optional<lease>(duration limit, std::stop_token stop)> call;
};

template <class Call>
form kept(std::string name, waiting_rule wait, Call call) {
  return {std::move(name), wait, true, [call](duration limit, std::stop_token stop) -> std::optional<lease> {
            if (call(limit, std::move(stop))) return lease{};
            return std::nullopt;
          }};
}

template <class Call>
form leased(std::string name, waiting_rule wait, Call call) {
  return {std::move(name), wait, false, [call](duration limit, std::stop_token stop) -> std::optional<lease> {
            return call(limit, std::move(stop));
          }};
}

template <class Call>
form async(std::string name, waiting_rule wait, Call call) {
  return {std::move(name), wait, false,
          [call](duration limit, const std::stop_token&) -> std::optional<lease> {
            // Without exceptions of the future: ThreadSanitizer does not see how libstdc++ counts who shares
            // one.
            auto [code, granted] = call(limit, asio::as_tuple(asio::use_future)).get();
            if (code == boost::system::error_code{make_error_code(errc::timeout)}) {
              throw error{errc::timeout, "timed out"};
            }
            if (code) throw std::runtime_error{code.message()};
            if (granted) return std::move(granted);
            return std::nullopt;
          }};
}

/// One kind of hold of one lock type, with all forms of its verbs.
struct verb_table {
  std::string type;
  std::string name;
  std::vector<form> forms;
  std::function<bool()> is_kept;
  std::function<void()> unlock;
};

auto after(duration limit) { return steady_clock::now() + limit; }

template <class Lock>
verb_table exclusive_verbs(std::string type, Lock& l) {
  return {std::move(type),
          l.name(),
          {kept("lock", unlimited, [&](auto, auto) { return l.lock(), true; }),
           kept("lock(stop)", until_stopped, [&](auto, auto stop) { return l.lock(stop); }),
           kept("try_lock", once, [&](auto, auto) { return l.try_lock(); }),
           kept("try_lock_for", limited, [&](auto limit, auto stop) { return l.try_lock_for(limit, stop); }),
           kept("try_lock_until", limited,
                [&](auto limit, auto stop) { return l.try_lock_until(after(limit), stop); }),
           leased("acquire", unlimited, [&](auto, auto) { return l.acquire(); }),
           leased("acquire(stop)", until_stopped, [&](auto, auto stop) { return l.acquire(stop); }),
           leased("try_acquire", once, [&](auto, auto) { return l.try_acquire(); }),
           leased("try_acquire_for", limited,
                  [&](auto limit, auto stop) { return l.try_acquire_for(limit, stop); }),
           leased("try_acquire_until", limited,
                  [&](auto limit, auto stop) { return l.try_acquire_until(after(limit), stop); }),
           async("async_acquire", unlimited, [&](auto, auto token) { return l.async_acquire(token); }),
           async("async_try_acquire", once, [&](auto, auto token) { return l.async_try_acquire(token); }),
           async("async_try_acquire_for", limited_async,
                 [&](auto limit, auto token) { return l.async_try_acquire_for(limit, token); }),
           async("async_try_acquire_until", limited_async,
                 [&](auto limit, auto token) { return l.async_try_acquire_until(after(limit), token); })},
          [&] { return l.held(); },
          [&] { l.unlock(); }};
}

verb_table shared_verbs(shared_mutex& l) {
  return {
      "shared_mutex, shared",
      l.name(),
      {kept("lock_shared", unlimited, [&](auto, auto) { return l.lock_shared(), true; }),
       kept("lock_shared(stop)", until_stopped, [&](auto, auto stop) { return l.lock_shared(stop); }),
       kept("try_lock_shared", once, [&](auto, auto) { return l.try_lock_shared(); }),
       kept("try_lock_shared_for", limited,
            [&](auto limit, auto stop) { return l.try_lock_shared_for(limit, stop); }),
       kept("try_lock_shared_until", limited,
            [&](auto limit, auto stop) { return l.try_lock_shared_until(after(limit), stop); }),
       leased("acquire_shared", unlimited, [&](auto, auto) { return l.acquire_shared(); }),
       leased("acquire_shared(stop)", until_stopped, [&](auto, auto stop) { return l.acquire_shared(stop); }),
       leased("try_acquire_shared", once, [&](auto, auto) { return l.try_acquire_shared(); }),
       leased("try_acquire_shared_for", limited,
              [&](auto limit, auto stop) { return l.try_acquire_shared_for(limit, stop); }),
       leased("try_acquire_shared_until", limited,
              [&](auto limit, auto stop) { return l.try_acquire_shared_until(after(limit), stop); }),
       async("async_acquire_shared", unlimited,
             [&](auto, auto token) { return l.async_acquire_shared(token); }),
       async("async_try_acquire_shared", once,
             [&](auto, auto token) { return l.async_try_acquire_shared(token); }),
       async("async_try_acquire_shared_for", limited_async,
             [&](auto limit, auto token) { return l.async_try_acquire_shared_for(limit, token); }),
       async("async_try_acquire_shared_until", limited_async,
             [&](auto limit, auto token) { return l.async_try_acquire_shared_until(after(limit), token); })},
      [&] { return l.held(); },
      [&] { l.unlock_shared(); }};
}

verb_table permit_verbs(counting_semaphore& s) {
  return {"counting_semaphore",
          s.name(),
          {kept("acquire", unlimited, [&](auto, auto) { return s.acquire(), true; }),
           kept("acquire(stop)", until_stopped, [&](auto, auto stop) { return s.acquire(stop); }),
           kept("try_acquire", once, [&](auto, auto) { return s.try_acquire(); }),
           kept("try_acquire_for", limited,
                [&](auto limit, auto stop) { return s.try_acquire_for(limit, stop); }),
           kept("try_acquire_until", limited,
                [&](auto limit, auto stop) { return s.try_acquire_until(after(limit), stop); }),
           leased("acquire_permits", unlimited, [&](auto, auto) { return s.acquire_permits(2); }),
           leased("acquire_permits(stop)", until_stopped,
                  [&](auto, auto stop) { return s.acquire_permits(2, stop); }),
           leased("try_acquire_permits", once, [&](auto, auto) { return s.try_acquire_permits(2); }),
           leased("try_acquire_permits_for", limited,
                  [&](auto limit, auto stop) { return s.try_acquire_permits_for(2, limit, stop); }),
           leased("try_acquire_permits_until", limited,
                  [&](auto limit, auto stop) { return s.try_acquire_permits_until(2, after(limit), stop); }),
           async("async_acquire_permits", unlimited,
                 [&](auto, auto token) { return s.async_acquire_permits(2, token); }),
           async("async_try_acquire_permits", once,
                 [&](auto, auto token) { return s.async_try_acquire_permits(2, token); }),
           async("async_try_acquire_permits_for", limited_async,
                 [&](auto limit, auto token) { return s.async_try_acquire_permits_for(2, limit, token); }),
           async("async_try_acquire_permits_until", limited_async,
                 [&](auto limit, auto token) {
                   return s.async_try_acquire_permits_until(2, after(limit), token);
                 })},
          [&] { return s.held(); },
          [&] { s.release(); }};
}

constexpr std::ptrdiff_t seat_count = 2;

/// One object of each lock type, and the tables of its verbs.
class every_type {
 public:
  explicit every_type(client& locks, const lock_options& options = {})
      : mutex_{locks, "mutex", options},
        recursive_{locks, "recursive", options},
        shared_{locks, "shared", options},
        seats_{locks, "seats", seat_count, options} {}

  [[nodiscard]] std::vector<verb_table> tables() {
    return {exclusive_verbs("mutex", mutex_), exclusive_verbs("recursive_mutex", recursive_),
            exclusive_verbs("shared_mutex", shared_), shared_verbs(shared_), permit_verbs(seats_)};
  }

 private:
  mutex mutex_;
  recursive_mutex recursive_;
  shared_mutex shared_;
  counting_semaphore seats_;
};

class verbs : public on_each_store {
 protected:
  /// Calls `check` with each form; nobody holds or waits before.
  template <class Check>
  void for_each_form(every_type& types, Check check) {
    for (const verb_table& table : types.tables()) {
      if (table.type == "counting_semaphore" && !kind_.has_permits) continue;
      EXPECT_EQ(table.forms.size(), 14U) << table.type;
      for (const form& each : table.forms) {
        SCOPED_TRACE(table.type + ": " + each.name);
        ASSERT_TRUE(look().sees_holders(table.name, 0));
        ASSERT_TRUE(look().sees_waiters(table.name, 0));
        check(table, each);
      }
    }
  }
  /// Excludes all others from the name.
  lease take_all(const std::string& name) {
    if (name == "seats") return counting_semaphore{two(), name, seat_count}.acquire_permits(seat_count);
    return mutex{two(), name}.acquire();
  }
  /// What the form answers, on a thread of its own, which gives back what it got.
  static std::future<bool> start(const verb_table& table, const form& each, std::stop_token stop) {
    return std::async(std::launch::async, [&table, &each, stop = std::move(stop)] {
      const auto got = each.call(60s, stop);
      if (each.keeps) table.unlock();
      return got.has_value();
    });
  }
};

TEST_P(verbs, acquire_a_free_name) {
  every_type types{one()};
  for_each_form(types, [](const verb_table& table, const form& each) {
    const auto got = each.call(60s, {});
    ASSERT_TRUE(got);
    EXPECT_EQ(got->held(), !each.keeps) << "a lease, or a hold in the object";
    EXPECT_EQ(table.is_kept(), each.keeps);
    table.unlock();
    EXPECT_FALSE(table.is_kept());
    EXPECT_EQ(got->held(), !each.keeps) << "unlocking is not for leases";
  });
}

TEST_P(verbs, with_a_limit_answer_empty_and_not_early_while_another_holds) {
  every_type types{one()};
  for_each_form(types, [this](const verb_table& table, const form& each) {
    if (!each.wait.limited) return;
    const auto held = take_all(table.name);
    const auto before = steady_clock::now();
    EXPECT_FALSE(answered([&] { return each.call(20ms, {}); }));
    if (each.wait.queued) {
      EXPECT_GE(steady_clock::now() - before, 20ms);
      EXPECT_FALSE(each.call(-1s, {})) << "asks once";
    }
    EXPECT_FALSE(table.is_kept());
  });
}

TEST_P(verbs, that_wait_are_served_in_the_queue) {
  every_type types{one()};
  for_each_form(types, [this](const verb_table& table, const form& each) {
    if (!each.wait.queued) return;
    auto held = take_all(table.name);
    auto waiting = start(table, each, {});
    EXPECT_TRUE(look().sees_waiters(table.name, 1));
    EXPECT_FALSE(held.release());
    EXPECT_TRUE(waiting.get());
  });
}

TEST_P(verbs, with_a_stop_token_give_their_place_up) {
  every_type types{one()};
  for_each_form(types, [this](const verb_table& table, const form& each) {
    if (!each.wait.stoppable) return;
    const auto held = take_all(table.name);
    std::stop_source stop;
    auto waiting = start(table, each, stop.get_token());
    EXPECT_TRUE(look().sees_waiters(table.name, 1));
    stop.request_stop();
    EXPECT_FALSE(waiting.get());
    EXPECT_TRUE(look().sees_waiters(table.name, 0));
    EXPECT_FALSE(each.call(60s, stop.get_token())) << "stopped before";
  });
}

TEST_P(verbs, without_a_limit_have_that_of_the_options) {
  every_type types{one(), lock_options{}.wait_limit(brief_wait)};
  for_each_form(types, [this](const verb_table& table, const form& each) {
    const auto held = take_all(table.name);
    std::error_code code;
    try {
      EXPECT_FALSE(answered([&] { return each.call(brief_wait, {}); }));
    } catch (const error& failed) {
      code = failed.code();
    }
    EXPECT_EQ(code, each.wait.limited ? std::error_code{} : make_error_code(errc::timeout));
  });
}

HOLDFAST_ON_EACH_STORE(verbs, any_store);

// The asynchronous forms without a token exist on every type, too.
template <class Lock>
concept has_default_tokens = requires(Lock lock, steady_clock::time_point end) {
  lock.async_acquire();
  lock.async_try_acquire();
  lock.async_try_acquire_for(1s);
  lock.async_try_acquire_until(end);
};
static_assert(has_default_tokens<mutex> && has_default_tokens<recursive_mutex> &&
              has_default_tokens<shared_mutex>);
static_assert(requires(shared_mutex lock, steady_clock::time_point end) {
  lock.async_acquire_shared();
  lock.async_try_acquire_shared();
  lock.async_try_acquire_shared_for(1s);
  lock.async_try_acquire_shared_until(end);
});
static_assert(requires(counting_semaphore seats, steady_clock::time_point end) {
  seats.async_acquire_permits(1);
  seats.async_try_acquire_permits(1);
  seats.async_try_acquire_permits_for(1, 1s);
  seats.async_try_acquire_permits_until(1, end);
});

}  // namespace
}  // namespace holdfast::contract
