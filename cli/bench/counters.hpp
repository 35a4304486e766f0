#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/redis.hpp"
#include "bench/report.hpp"

namespace holdfast::cli {

/// What a scenario costs the store, by the server's own counters. The server should have nobody else to
/// serve. On stores that do not count there are no such figures.
class store_counters {
 public:
  explicit store_counters(const store_choice& store) : store_{store} {}

  void start();
  void stop();
  /// \param what of which there were `count` between start and stop; empty: only how much a second.
  void add_to(std::vector<figure>& figures, const std::string& what = {}, double count = 0) const;

 private:
  struct reading {
    double commands = 0;  ///< that clients sent
    double calls = 0;     ///< of everything, what scripts call included
    bench_clock::time_point at;
  };
  [[nodiscard]] std::optional<reading> read() const;

  store_choice store_;
  std::optional<reading> before_;
  std::optional<reading> after_;
};

}  // namespace holdfast::cli
