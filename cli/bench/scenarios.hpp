#pragma once

#include "bench/report.hpp"

namespace holdfast::cli {

/// What each scenario measures is said in its file.
bench_result bench_pair(const bench_command& what);
bench_result bench_spread(const bench_command& what);
bench_result bench_handoff(const bench_command& what);
bench_result bench_idle(const bench_command& what);
bench_result bench_held(const bench_command& what);

/// A client whose locks have the ttl that was asked for.
[[nodiscard]] client open_for_bench(const bench_command& what);

/// A name that nobody else uses.
[[nodiscard]] std::string bench_name(std::string_view what);

}  // namespace holdfast::cli
