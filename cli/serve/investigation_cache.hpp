// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "why/investigation.hpp"
#include <holdfast/boot_clock.hpp>

namespace holdfast::cli {

/// The last reading of all queues, shared by all who ask while it is made, and for two seconds after: however
/// many look at chains and deadlocks, the store is read for one of them.
class investigation_cache {
 public:
  static constexpr std::chrono::seconds kept_for{2};

  using clock = std::function<boot_clock::time_point()>;
  explicit investigation_cache(clock now = boot_clock::now) : now_{std::move(now)} {}

  /// When somebody asked, and what the answer must not leave out.
  struct need {
    boot_clock::time_point asked_at;    ///< a reading that ended later is theirs, also one that failed
    boot_clock::time_point changed_at;  ///< a reading that began earlier is not
  };
  struct dated {
    boot_clock::time_point taken_at;  ///< when its reading began
    investigation found;
  };
  /// Called by one thread. \param read reads the queues.
  /// \throws what `read` throws, or has thrown since it was asked for.
  [[nodiscard]] dated get(const need& request, const std::function<investigation()>& read);
  /// Forgets what is too old for everybody. On any thread.
  void expire();

 private:
  struct reading {
    dated outcome;
    boot_clock::time_point ended;
    std::exception_ptr problem;  // in place of what was found
  };
  [[nodiscard]] bool is_of_use(const need& request) const;

  clock now_;
  std::mutex mutex_;
  std::optional<reading> last_;
};

}  // namespace holdfast::cli
