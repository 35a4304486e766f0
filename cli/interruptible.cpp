// SPDX-License-Identifier: Apache-2.0
#include "interruptible.hpp"

#include <exception>
#include <thread>

#include "descriptor.hpp"

namespace holdfast::cli {

bool run_interruptibly(client& locks, const signal_inbox& signals, std::optional<duration> limit,
                       const std::function<void()>& call) {
  const event ended;
  std::exception_ptr problem;
  std::jthread worker{[&] {
    try {
      call();
    } catch (...) {
      problem = std::current_exception();
    }
    ended.raise();
  }};
  await_any({ended.get(), signals.get()}, limit);
  const bool by_itself = ended.take();
  if (!by_itself) locks.close();
  worker.join();
  if (by_itself && problem) std::rethrow_exception(problem);
  return by_itself;
}

}  // namespace holdfast::cli
