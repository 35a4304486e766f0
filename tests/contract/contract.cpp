// SPDX-License-Identifier: Apache-2.0
#include "contract/contract.hpp"

#include <condition_variable>
#include <iostream>
#include <mutex>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include "contract/gate.hpp"
#include <holdfast/async.hpp>

namespace holdfast::contract {

namespace asio = boost::asio;

namespace {

constexpr auto hang = 60s;  // far longer than anything here takes on a loaded machine under a sanitizer
constexpr auto as_pair = asio::as_tuple(asio::use_awaitable);

outcome from_optional(std::optional<lease> held) { return {{}, held ? std::move(*held) : lease{}}; }

// One coroutine for each operation, because a co_await may only stand alone or initialise a variable.

template <class Lock>
asio::awaitable<outcome> take_exclusive(Lock& lock, std::optional<duration> limit) {
  if (!limit) {
    auto [code, held] = co_await lock.async_acquire(as_pair);
    co_return outcome{code, std::move(held)};
  }
  if (*limit == duration::zero()) {
    auto [code, held] = co_await lock.async_try_acquire(as_pair);
    co_return outcome{code, std::move(held)};
  }
  auto [code, held] = co_await lock.async_try_acquire_for(*limit, as_pair);
  co_return outcome{code, std::move(held)};
}

asio::awaitable<outcome> take_shared(shared_mutex& lock, std::optional<duration> limit) {
  if (!limit) {
    auto [code, held] = co_await lock.async_acquire_shared(as_pair);
    co_return outcome{code, std::move(held)};
  }
  if (*limit == duration::zero()) {
    auto [code, held] = co_await lock.async_try_acquire_shared(as_pair);
    co_return outcome{code, std::move(held)};
  }
  auto [code, held] = co_await lock.async_try_acquire_shared_for(*limit, as_pair);
  co_return outcome{code, std::move(held)};
}

asio::awaitable<outcome> take_permits(counting_semaphore& lock, std::ptrdiff_t count,
                                      std::optional<duration> limit) {
  if (!limit) {
    auto [code, held] = co_await lock.async_acquire_permits(count, as_pair);
    co_return outcome{code, std::move(held)};
  }
  if (*limit == duration::zero()) {
    auto [code, held] = co_await lock.async_try_acquire_permits(count, as_pair);
    co_return outcome{code, std::move(held)};
  }
  auto [code, held] = co_await lock.async_try_acquire_permits_for(count, *limit, as_pair);
  co_return outcome{code, std::move(held)};
}

asio::awaitable<std::error_code> give_back(lease held) {
  auto [code] = co_await async_release(std::move(held), as_pair);
  co_return code;
}

asio::awaitable<outcome> make_shared_hold(lease held) {
  auto [code, kept] = co_await async_downgrade(std::move(held), as_pair);
  co_return outcome{code, std::move(kept)};
}

}  // namespace

outcome get(pending_outcome& pending) {
  if (pending.wait_for(hang) != std::future_status::ready) {
    ADD_FAILURE() << "still waiting";
    return {errc::timeout, {}};
  }
  return pending.get();
}

contender::contender(flavour way, asio::thread_pool& loop, client& locks, std::string_view name,
                     std::ptrdiff_t capacity, const lock_options& options)
    : way_{way},
      loop_{loop},
      mutex_{locks, name, options},
      shared_mutex_{locks, name, options},
      semaphore_{locks, name, capacity, options} {}

outcome contender::take(const wish& request) {
  const auto wait_limit = boot_clock::now() + hang;
  for (;;) {
    auto ended = take_in_flavour(request);
    if (!ended.code) return ended;
    problems_.push_back(ended.code);
    // A brief lease that was over when it arrived. Whoever has so little time on such a machine asks again.
    if (ended.code != errc::lost || boot_clock::now() > wait_limit) return ended;
  }
}

outcome contender::take_in_flavour(const wish& request) {
  if (way_ == flavour::blocking) return take_blocking(request);
  auto pending = start(request);
  return get(pending);
}

pending_outcome contender::start(wish request) {
  if (way_ == flavour::blocking) {
    std::packaged_task<outcome()> task{[this, request] { return take_blocking(request); }};
    auto pending = task.get_future();
    waiting_.emplace_back(std::move(task));
    return pending;
  }
  switch (request.mode) {
    case mode::shared:
      return asio::co_spawn(loop_, take_shared(shared_mutex_, request.limit), asio::use_future);
    case mode::permits:
      return asio::co_spawn(loop_, take_permits(semaphore_, request.count, request.limit), asio::use_future);
    default: break;
  }
  if (request.among_readers)
    return asio::co_spawn(loop_, take_exclusive(shared_mutex_, request.limit), asio::use_future);
  return asio::co_spawn(loop_, take_exclusive(mutex_, request.limit), asio::use_future);
}

namespace {

template <class Lock>
outcome take_blocking_exclusive(Lock& lock, std::optional<duration> limit) {
  if (!limit) return {{}, lock.acquire()};
  return from_optional(*limit == duration::zero() ? lock.try_acquire() : lock.try_acquire_for(*limit));
}

}  // namespace

outcome contender::take_blocking(const wish& request) {
  const bool forever = !request.limit;
  const bool once = request.limit == duration::zero();
  try {
    switch (request.mode) {
      case mode::exclusive:
        return request.among_readers ? take_blocking_exclusive(shared_mutex_, request.limit)
                                     : take_blocking_exclusive(mutex_, request.limit);
      case mode::shared:
        if (forever) return {{}, shared_mutex_.acquire_shared()};
        return from_optional(once ? shared_mutex_.try_acquire_shared()
                                  : shared_mutex_.try_acquire_shared_for(*request.limit));
      case mode::permits:
        if (forever) return {{}, semaphore_.acquire_permits(request.count)};
        return from_optional(once ? semaphore_.try_acquire_permits(request.count)
                                  : semaphore_.try_acquire_permits_for(request.count, *request.limit));
    }
    return {errc::invalid_argument, {}};
  } catch (const error& failed) {
    return {failed.code(), {}};
  }
}

std::error_code contender::release(lease held) {
  if (way_ == flavour::blocking) return held.release();
  return asio::co_spawn(loop_, give_back(std::move(held)), asio::use_future).get();
}

outcome contender::downgrade(lease held) {
  if (way_ == flavour::async) {
    return asio::co_spawn(loop_, make_shared_hold(std::move(held)), asio::use_future).get();
  }
  try {
    held.downgrade();
    return {{}, std::move(held)};
  } catch (const error& failed) {
    return {failed.code(), std::move(held)};
  }
}

void within_a_ttl(duration shortest, const std::function<bool(duration ttl)>& in_time) {
  for (duration ttl = shortest; !in_time(ttl); ttl *= 4) ASSERT_LT(ttl, 16 * shortest) << "it never is";
}

bool observer::sees(const std::function<bool()>& seen) const {
  std::mutex guard;
  std::condition_variable changed;
  bool news = true;
  const auto watch = locks_.watch([&] {
    const std::lock_guard held{guard};
    news = true;
    changed.notify_one();
  });
  const auto deadline = std::chrono::steady_clock::now() + hang;
  while (!seen()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::unique_lock held{guard};
    // Expiry changes nothing at the store by itself, so it is looked for now and then.
    changed.wait_for(held, 20ms, [&] { return news; });
    news = false;
  }
  return true;
}

bool observer::sees_waiters(std::string_view name, std::size_t count) const {
  return sees([&] {
    const auto state = locks_.inspect(name);
    return (state ? state->waiters.size() : 0) == count;
  });
}

bool observer::sees_holders(std::string_view name, std::size_t count) const {
  return sees([&] {
    const auto state = locks_.inspect(name);
    return (state ? state->holders.size() : 0) == count;
  });
}

namespace {

constexpr auto wait_limit = 50s;  // less than until a test takes it for a hang

/// A machine may keep a server from its work for longer than claims, or the end of a client, wait for it
/// where a test says nothing of that.
lock_options with_wait_limit(lock_options options) {
  const auto& retry = options.retry();
  if (retry.limit() == retry_policy{}.limit()) options.retry(retry_policy{retry}.limit(wait_limit));
  return options;
}
client_options with_wait_limit(client_options options) {
  if (options.flush_limit() == client_options{}.flush_limit()) options.flush_limit(wait_limit);
  return options.locks(with_wait_limit(options.locks()));
}

}  // namespace

client& on_store::open(client_options options) {
  options = with_wait_limit(std::move(options));
  return clients_.emplace_back(store_->url(), std::move(options));
}

contender& on_store::in_flavour(flavour way, client& locks, std::string_view name, std::ptrdiff_t capacity,
                                const lock_options& options) {
  return contenders_.emplace_back(way, loop_, locks, name, capacity, with_wait_limit(options));
}

namespace {

std::string text_of(const claim_state& each) {
  return " (owner " + each.owner + ", token " + std::to_string(each.token.value()) + ", permits " +
         std::to_string(each.permits) + ", age " + std::to_string(each.age.count()) + " us, ends in " +
         std::to_string(each.expires_in.count()) + " us)";
}

std::string text_of_all(client& locks) {
  std::string text;
  for (const lock_summary& line : locks.list()) {
    const auto state = locks.inspect(line.name);
    text += line.name + ':';
    if (!state) continue;
    for (const claim_state& each : state->holders) text += " holder" + text_of(each);
    for (const claim_state& each : state->waiters) text += " waiter" + text_of(each);
  }
  return text;
}

}  // namespace

void on_store::TearDown() {
  client& auditor = bystander();
  for (client& each : clients_) {
    if (&each != &auditor) each.close();  // also ends the waits of a test that failed
  }
  loop_.join();
  for (const auto& each : contenders_) {
    if (!HasFailure()) break;
    for (const auto& problem : each.problems())
      std::cout << "a claim ended with: " << problem.message() << '\n';
  }
  contenders_.clear();
  EXPECT_TRUE(observer{auditor}.sees([&] { return auditor.list().empty(); }))
      << "something stayed behind: " << text_of_all(auditor);
  clients_.clear();
}

std::vector<variant> both_flavours(std::string_view fixture, store_filter wanted) {
  std::vector<variant> result;
  for (const auto& kind : each_store(fixture, wanted)) {
    result.push_back({kind, flavour::blocking});
    if (runs_async_on(kind)) result.push_back({kind, flavour::async});
  }
  return result;
}

std::vector<store_kind> each_store(std::string_view fixture, store_filter wanted) {
  std::vector<store_kind> result;
  for (const auto& kind : store_kinds()) {
    if (runs_on(kind, fixture) && wanted(kind)) result.push_back(kind);
  }
  return result;
}

void PrintTo(const store_kind& kind, std::ostream* out) { *out << kind.name; }

void PrintTo(const variant& one, std::ostream* out) {
  *out << one.kind.name << (one.way == flavour::blocking ? ", blocking" : ", async");
}

std::string name_of(const testing::TestParamInfo<variant>& info) {
  return info.param.kind.name + (info.param.way == flavour::blocking ? "_blocking" : "_async");
}

std::string name_of_store(const testing::TestParamInfo<store_kind>& info) { return info.param.name; }

}  // namespace holdfast::contract
