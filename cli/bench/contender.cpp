// SPDX-License-Identifier: Apache-2.0
// One process of `bench handoff`: several threads, each with a client of its own or with one for all of them,
// contending for one name.

#include <atomic>
#include <chrono>
#include <csignal>
#include <deque>
#include <mutex>
#include <optional>
#include <sys/prctl.h>
#include <thread>

#include "bench/bench.hpp"
#include "bench/board.hpp"
#include "failure.hpp"
#include <holdfast/error.hpp>
#include <holdfast/mutex.hpp>

namespace holdfast::cli {

namespace {

/// The work under the lock, which shows if another contender holds it, too.
void note_grant(handoff_board& board, contender_results& results, std::int64_t process,
                std::int64_t granted_at_ns, fencing_token token) {
  const auto drawn = static_cast<std::int64_t>(token.value());
  if (drawn <= board.last_token.get()) board.token_violations.add(1);
  board.last_token.set(drawn);
  board.grants.add(1);

  if (results.grants.get() > 0) {
    results.later_waits.add(1);
    results.later_wait_ns.add(granted_at_ns - results.requested_at_ns.get());
  }
  results.grants.add(1);

  const auto from = board.unlocked_by.get();
  const auto place = static_cast<std::size_t>(board.handovers.get());
  if (from == 0 || from == process || place == handoff_board::samples_max) return;
  board.handover_ns[place].set(granted_at_ns - board.unlocked_at_ns.get());
  board.handovers.add(1);
}

/// All contenders begin together: one that began earlier could get all grants before the others start. If one
/// cannot start, none begins.
void await_start(const handoff_board& board) {
  board.begun.wait();
  std::this_thread::sleep_for(std::chrono::nanoseconds{board.start_at_ns - monotonic_ns()});
}

client open_for(const handoff_board& board) {
  return open_client({}, client_options{}.locks(lock_options{}.ttl(duration{board.ttl_us})));
}

void contend(handoff_board& board, contender_results& results, std::int64_t process, client& locks) {
  mutex lock{locks, board.name.data()};
  lock.lock();  // a contender is ready after its first lock, which connects
  lock.unlock();
  ++board.ready;
  await_start(board);
  while (!board.stop) {
    results.requested_at_ns.set(monotonic_ns());
    lock.lock();
    const auto granted_at_ns = monotonic_ns();
    if (!board.stop) {
      note_grant(board, results, process, granted_at_ns, lock.token());
      if (board.grants.get() >= board.grants_limit) board.stop = true;
    }
    board.unlocked_by.set(process);
    board.unlocked_at_ns.set(monotonic_ns());
    lock.unlock();
  }
}

}  // namespace

int perform(const contender_command& request) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // without the parent no process would stop this one
  const shared_board board{request.board};
  std::atomic<int> status = success;
  std::once_flag opened;
  std::optional<client> shared;
  const auto contender = [&](std::int64_t index) {
    const auto place = static_cast<std::size_t>(request.process * board->contenders_per_process + index);
    try {
      std::optional<client> own;
      if (board->one_client) {
        std::call_once(opened, [&] { shared.emplace(open_for(*board)); });
      } else {
        own.emplace(open_for(*board));
      }
      contend(*board, board->contenders[place], request.process + 1, own ? *own : *shared);
    } catch (const std::system_error& cause) {
      const auto problem = to_failure(cause);
      status = problem.status();
      board->stop = true;
      board->begun.open();
      // A process that ends as failed makes the parent kill the others: none may end before that is said.
      if (!board->has_failed.exchange(true)) {
        report(problem, false);
        board->reported.open();
      }
      board->reported.wait();
    }
  };
  {
    std::deque<std::jthread> threads;
    for (std::int64_t i = 0; i < board->contenders_per_process; ++i) threads.emplace_back(contender, i);
  }
  return status;
}

}  // namespace holdfast::cli
