// SPDX-License-Identifier: Apache-2.0
#include "end_guard.hpp"

#include <unistd.h>

#include "exit_status.hpp"
#include <holdfast/boot_clock.hpp>

namespace holdfast::cli {

namespace {

void obey_further_signal(signal_inbox& signals) {
  if (const auto number = signals.take()) ::_exit(killed_by_signal + *number);
}

}  // namespace

end_guard::end_guard(signal_inbox& signals, std::chrono::milliseconds limit) {
  obey_further_signal(signals);
  thread_ = std::jthread{[this, &signals, limit] {
    const auto end = boot_clock::now() + limit;
    // A signal with a handler ends a wait before its time.
    for (auto left = end - boot_clock::now(); left > boot_clock::duration::zero();
         left = end - boot_clock::now()) {
      await_any({signals.get(), ended_.get()}, std::chrono::ceil<std::chrono::milliseconds>(left));
      if (ended_.take()) return;
      obey_further_signal(signals);
    }
    ::_exit(success);
  }};
}

end_guard::~end_guard() { ended_.raise(); }

}  // namespace holdfast::cli
