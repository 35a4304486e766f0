// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench/report.hpp"

namespace holdfast::cli {

/// What each scenario measures is said in its file.
bench_result bench_pair(const bench_command& request);
bench_result bench_term(const bench_command& request);
bench_result bench_spread(const bench_command& request);
bench_result bench_handoff(const bench_command& request);
bench_result bench_idle(const bench_command& request);
bench_result bench_held(const bench_command& request);

/// A client whose locks have the ttl that was asked for.
[[nodiscard]] client open_for_bench(const bench_command& request);

/// A name that nobody else uses.
[[nodiscard]] std::string bench_name(std::string_view suffix);

}  // namespace holdfast::cli
