// SPDX-License-Identifier: Apache-2.0
#include "serve/metrics.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

#include "output/json.hpp"
#include "output/text.hpp"

namespace holdfast::cli {

namespace {

constexpr std::string_view rest = "other";

/// In the quotes of a label's value.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char each : text) {
    if (each == '\\' || each == '"') result += '\\';
    if (each == '\n') {
      result += "\\n";
    } else {
      result += each;
    }
  }
  return result;
}

void keep_earlier(std::optional<boot_clock::time_point>& into, boot_clock::time_point when) {
  into = into ? std::min(*into, when) : when;
}

double seconds_since(const std::optional<boot_clock::time_point>& began, boot_clock::time_point now) {
  return began ? std::max(0.0, to_seconds(now - *began)) : 0.0;
}

}  // namespace

std::string_view prefix_of(std::string_view name) { return name.substr(0, name.find_first_of("/:")); }

metrics_board::figures& metrics_board::of(const std::string& name) {
  const auto prefix = printable(prefix_of(name));
  if (const auto known = by_prefix_.find(prefix); known != by_prefix_.end()) return known->second;
  const bool has_room = by_prefix_.size() < most_prefixes && prefix.size() <= longest_prefix;
  return by_prefix_[has_room ? prefix : std::string{rest}];
}

void metrics_board::count(const std::vector<lock_summary>& all, boot_clock::time_point when) {
  for (auto& [prefix, values] : by_prefix_) values = {.hand_overs = values.hand_overs};
  for (const lock_summary& lock : all) {
    figures& values = of(lock.name);
    values.waiters += lock.waiters;
    if (lock.holders == 0) continue;
    ++values.held;
    // Of another library's hold the age is not known.
    if (lock.holder_token) keep_earlier(values.held_since, when - lock.held_for);
  }
}

void metrics_board::add(const first_waiters& waits, const std::vector<std::string>& handed_over) {
  for (const auto& [name, wait] : waits.all()) {
    if (wait.since) keep_earlier(of(name).waited_since, *wait.since);
  }
  for (const auto& name : handed_over) ++of(name).hand_overs;
}

std::string metrics_board::text(bool is_up, boot_clock::time_point now, bool is_open_metrics,
                                std::optional<std::size_t> deadlocks) const {
  const auto store = escaped(store_);
  std::string result;
  const auto begin = [&](std::string_view name, std::string_view type, std::string_view help) {
    fmt::format_to(std::back_inserter(result), "# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
  };
  const auto add_one = [&](std::string_view name, const std::string& prefix, const auto& value) {
    fmt::format_to(std::back_inserter(result), "{}{{store=\"{}\",prefix=\"{}\"}} {}\n", name, store,
                   escaped(prefix), value);
  };
  const auto add_all = [&](std::string_view name, const auto& value_of) {
    for (const auto& [prefix, values] : by_prefix_) add_one(name, prefix, value_of(values));
  };
  begin("holdfast_store_up", "gauge", "Whether the store has answered a moment ago.");
  fmt::format_to(std::back_inserter(result), "holdfast_store_up{{store=\"{}\"}} {}\n", store, is_up ? 1 : 0);
  // What was read last is no news of a store that is away: ages would grow, of holds that may be over.
  if (is_up) {
    begin("holdfast_locks_held", "gauge", "Names that somebody holds.");
    add_all("holdfast_locks_held", [](const figures& each) { return each.held; });
    begin("holdfast_waiters", "gauge", "Claims that wait.");
    add_all("holdfast_waiters", [](const figures& each) { return each.waiters; });
    begin("holdfast_longest_wait_seconds", "gauge",
          "How long the first waiter waits, of the name where it is longest of those that were looked at.");
    for (const auto& [prefix, values] : by_prefix_) {
      // A wait that is not known yet is not zero.
      if (values.waiters == 0 || values.waited_since)
        add_one("holdfast_longest_wait_seconds", prefix, seconds_since(values.waited_since, now));
    }
    begin("holdfast_longest_hold_seconds", "gauge",
          "The age of the oldest hold, of those whose age is known.");
    for (const auto& [prefix, values] : by_prefix_) {
      // Nor is the age of a hold, where other libraries alone hold.
      if (values.held == 0 || values.held_since)
        add_one("holdfast_longest_hold_seconds", prefix, seconds_since(values.held_since, now));
    }
  }
  if (is_up && deadlocks) {
    begin("holdfast_deadlocks", "gauge", "Groups of processes that wait for one another for ever.");
    fmt::format_to(std::back_inserter(result), "holdfast_deadlocks{{store=\"{}\"}} {}\n", store, *deadlocks);
  }
  // OpenMetrics names the family, whose sample has the suffix.
  begin(is_open_metrics ? "holdfast_handovers" : "holdfast_handovers_total", "counter",
        "Grants that were seen; several between two readings of the store count as one.");
  add_all("holdfast_handovers_total", [](const figures& each) { return each.hand_overs; });
  if (is_open_metrics) result += "# EOF\n";
  return result;
}

}  // namespace holdfast::cli
