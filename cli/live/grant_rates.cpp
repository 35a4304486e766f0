// SPDX-License-Identifier: Apache-2.0
#include "live/grant_rates.hpp"

#include <chrono>
#include <utility>

namespace holdfast::cli {

namespace {

constexpr std::chrono::seconds rate_over{10};

}  // namespace

void grant_rates::begin() { former_ = std::exchange(current_, {}); }

double grant_rates::observe(const lock_summary& lock, boot_clock::time_point when) {
  if (const auto known = former_.find(lock.name); known != former_.end())
    current_.insert(former_.extract(known));
  const auto [known, is_new] = current_.try_emplace(lock.name, past{lock.last_token, {}});
  past& of = known->second;
  if (!is_new && of.last != lock.last_token) of.grants.push_back(when);
  of.last = lock.last_token;
  while (!of.grants.empty() && of.grants.front() + rate_over < when) of.grants.pop_front();
  return static_cast<double>(of.grants.size()) / std::chrono::duration<double>{rate_over}.count();
}

}  // namespace holdfast::cli
