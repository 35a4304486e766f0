// SPDX-License-Identifier: Apache-2.0
// The snippets of docs/guide.md, in the order of that page. Each is a part of a function here, line by line;
// the program calls these functions, and ends with 1 if one of them has not done what the page says.

#include <atomic>
#include <chrono>
#include <exception>
#include <future>
#include <iostream>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "database.hpp"
#include <holdfast/async.hpp>  // for Boost.Asio; without it, no Boost is needed
#include <holdfast/holdfast.hpp>

namespace {

using namespace std::chrono_literals;

/// A report of a hundred pages, which anybody may have to end early.
class report {
 public:
  [[nodiscard]] bool is_complete() const { return pages_ == 100; }
  void write_page() { ++pages_; }
  void write_all(const std::stop_token& stop) {
    while (!is_complete() && !stop.stop_requested()) write_page();
  }
  void cancel() { is_cancelled_ = true; }
  [[nodiscard]] bool is_cancelled() const { return is_cancelled_; }

 private:
  int pages_ = 0;
  std::atomic<bool> is_cancelled_ = false;
};

bool hold_with_a_limit(holdfast::mutex& nightly, report& pages) {
  if (std::optional<holdfast::lease> lease = nightly.try_acquire_for(2s)) {
    pages.write_all(lease->lost());
    if (const std::error_code problem = lease->release()) std::cerr << problem.message() << '\n';
  } else {
    std::cerr << "others held it for all of that time\n";
  }
  return pages.is_complete();
}

bool react_to_loss(holdfast::mutex& nightly, report& pages) {
  holdfast::lease lease = nightly.acquire();
  const std::stop_callback on_loss{lease.lost(), [&pages] { pages.cancel(); }};
  while (lease.held() && !pages.is_complete()) pages.write_page();
  return !pages.is_cancelled();
}

bool write_behind_a_fence(holdfast::mutex& stock, database& shop) {
  const holdfast::lease lease = stock.acquire();
  const int rows = shop.execute(
      "UPDATE stock SET units = units - 1, fence = :token WHERE sku = 42 AND fence <= :token", lease.token());
  if (rows == 0) throw std::runtime_error{"too late: a later holder has written"};
  return rows == 1;
}

bool use_guards(holdfast::mutex& nightly, report& pages) {
  {
    const std::scoped_lock hold{nightly};
    pages.write_all(nightly.lost());
  }
  if (const std::unique_lock hold{nightly, 2s}) pages.write_all(nightly.lost());
  return pages.is_complete();
}

bool read_and_write(holdfast::client& locks) {
  holdfast::shared_mutex rates{locks, "rates"};
  {
    const std::shared_lock reader{rates};  // with other readers, and no writer
  }
  holdfast::lease writer = rates.acquire();  // alone
  writer.downgrade();                        // a reader from here on; no writer came between
  return writer.mode() == holdfast::mode::shared;
}

bool take_permits(holdfast::client& locks) {
  holdfast::counting_semaphore seats{locks, "converter/seats", 4};  // all users name the same capacity
  const holdfast::lease two = seats.acquire_permits(2);
  return two.permits() == 2;
}

bool take_several_names(holdfast::client& locks) {
  holdfast::lock_set accounts{locks, {"account/1", "account/2", holdfast::lock_spec::shared("rates")}};
  const holdfast::lease_set held = accounts.acquire();
  const holdfast::fencing_token of_the_first = held.token("account/1");  // each name has its own
  return held.held() && of_the_first;
}

bool hold_on_two_stores(holdfast::client& old_store, holdfast::client& locks) {
  holdfast::lease_set held;
  held.add(holdfast::mutex{old_store, "stock/sku-42"}.acquire());  // first, in all programs
  held.add(holdfast::mutex{locks, "stock/sku-42"}.acquire());
  return held.held() && held.leases()[1].token();
}

bool run_next_job(holdfast::fencing_token /*token*/) { return false; }

bool elect(holdfast::client& locks) {
  holdfast::election scheduler{locks, "scheduler"};
  holdfast::term term = scheduler.campaign("10.0.0.7:8080");  // stands by until it is elected
  while (term.held() && run_next_job(term.token())) {
  }
  const std::optional<holdfast::candidate> leader = scheduler.leader();  // in any process
  return leader && leader->value == "10.0.0.7:8080";
}

boost::asio::awaitable<void> write_report(holdfast::mutex& nightly, report& pages) {
  holdfast::lease lease = co_await nightly.async_acquire();
  pages.write_all(lease.lost());
  co_await holdfast::async_release(std::move(lease));
}

bool wait_in_a_coroutine(holdfast::mutex& nightly, report& pages) {
  boost::asio::io_context context;
  co_spawn(context, write_report(nightly, pages), [](const std::exception_ptr& failed) {
    if (failed) std::rethrow_exception(failed);
  });
  context.run();
  return pages.is_complete();
}

bool wait_with_a_callback(holdfast::mutex& nightly, report& pages) {
  boost::asio::io_context context;
  auto written = [&pages](boost::system::error_code failed, holdfast::lease lease) {
    if (failed) return;                        // the store did not answer, or refused
    if (lease) pages.write_all(lease.lost());  // else others held it for all of that time
  };
  nightly.async_try_acquire_for(2s, boost::asio::bind_executor(context, written));
  context.run();
  return pages.is_complete();
}

bool test_a_loss() {
  holdfast::client ours{"memory:test"};
  holdfast::client theirs{"memory:test"};  // another client, as if in another process
  holdfast::mutex nightly{ours, "reports/nightly"};
  holdfast::lease lease = nightly.acquire();
  std::promise<std::error_code> lost;
  lease.on_lost([&lost](std::error_code reason) { lost.set_value(reason); });
  theirs.force_release("reports/nightly");
  return lost.get_future().get() == holdfast::errc::lost && !lease.held();
}

bool look(holdfast::client& locks, holdfast::mutex& nightly) {
  const holdfast::lease lease = nightly.acquire();
  for (const holdfast::lock_summary& each : locks.list()) {
    std::cout << each.name << ": " << each.holder.program << " on " << each.holder.host << ", "
              << each.waiters << " waiting\n";
  }
  const std::optional<holdfast::lock_state> state = locks.inspect("reports/nightly");  // holders, queue
  return state && state->holders.front().token == lease.token();
}

bool report_errors(holdfast::mutex& nightly) {
  try {
    const std::scoped_lock hold{nightly};
  } catch (const holdfast::error& e) {
    std::cerr << e.what() << '\n';  // the call, the lock, the store and the cause
    if (e.code() != holdfast::errc::timeout) throw;
    return false;  // others held it for all of the wait_limit
  }
  return true;
}

bool end_with_the_process(holdfast::client& locks, holdfast::mutex& nightly) {
  const holdfast::lease lease = nightly.acquire();
  locks.close();  // before std::exit(), quick_exit() or exec: sends the releases that are due
  return lease.loss() == holdfast::loss_reason::client_closed;
}

/// \return whether all calls did what the page says.
bool run_all() {
  holdfast::client locks{holdfast::default_store()};  // HOLDFAST_STORE, else a file of this user
  holdfast::mutex nightly{locks, "reports/nightly", holdfast::lock_options{}.wait_limit(1min)};
  holdfast::mutex stock{locks, "stock/sku-42"};
  database shop{":memory:"};

  bool good = true;
  const auto expect = [&good](const char* name, bool ok) {
    if (!ok) std::cerr << "not so: " << name << '\n';
    good = good && ok;
  };
  report first, second, third, fourth, fifth;
  expect("hold_with_a_limit", hold_with_a_limit(nightly, first));
  expect("react_to_loss", react_to_loss(nightly, second));
  expect("write_behind_a_fence", write_behind_a_fence(stock, shop));
  expect("use_guards", use_guards(nightly, third));
  expect("read_and_write", read_and_write(locks));
  expect("take_permits", take_permits(locks));
  expect("take_several_names", take_several_names(locks));
  holdfast::client old_store{"memory:"};
  expect("hold_on_two_stores", hold_on_two_stores(old_store, locks));
  expect("elect", elect(locks));
  expect("wait_in_a_coroutine", wait_in_a_coroutine(nightly, fourth));
  expect("wait_with_a_callback", wait_with_a_callback(nightly, fifth));
  expect("test_a_loss", test_a_loss());
  expect("look", look(locks, nightly));
  {
    const holdfast::lease other = stock.acquire();
    holdfast::mutex limited{locks, "stock/sku-42", holdfast::lock_options{}.wait_limit(100ms)};
    expect("report_errors", !report_errors(limited));
  }
  expect("end_with_the_process", end_with_the_process(locks, nightly));
  return good;
}

}  // namespace

int main() {
  try {
    return run_all() ? 0 : 1;
  } catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
  }
}
