// SPDX-License-Identifier: Apache-2.0
#include "holdfast/options.hpp"

#include "base/name.hpp"
#include "holdfast/detail/handle.hpp"
#include "holdfast/error.hpp"

namespace holdfast {

namespace {

using namespace std::chrono_literals;

constexpr duration shortest_ttl = 100ms;
constexpr duration longest_ttl = 24h;
constexpr duration longest_grace = 1h;
constexpr std::size_t longest_label = 256;

std::string in_ms(duration d) {
  if (d == duration::max()) return "no limit";
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(d).count()) + " ms";
}

void require(bool holds, const std::string& message) {
  if (!holds) throw error{errc::invalid_argument, message};
}

void require_text(const std::string& text, const char* option) {
  const auto problem = problem_of_text(text, longest_label);
  require(!problem, std::string{option} + ": " + problem.value_or(""));
}

}  // namespace

retry_policy& retry_policy::first(duration delay) {
  require(delay >= 1ms, "first retry delay: " + in_ms(delay) + " is less than 1 ms");
  first_ = detail::to_limit(delay);
  if (longest_ < first_) longest_ = first_;
  return *this;
}

retry_policy& retry_policy::longest(duration delay) {
  require(delay >= first_,
          "longest retry delay: " + in_ms(delay) + " is less than the first delay, " + in_ms(first_));
  longest_ = detail::to_limit(delay);
  return *this;
}

retry_policy& retry_policy::limit(duration total) {
  require(total >= 0s, "retry limit: " + in_ms(total) + " is negative");
  limit_ = detail::to_limit(total);
  return *this;
}

lock_options& lock_options::ttl(duration ttl) {
  require(ttl >= shortest_ttl && ttl <= longest_ttl,
          "ttl: " + in_ms(ttl) + " is not between 100 ms and 24 h");
  require(!drift_margin_ || *drift_margin_ < ttl / 2, "ttl: " + in_ms(ttl) +
                                                          " is not more than twice the drift margin, " +
                                                          in_ms(drift_margin_.value_or(0s)));
  ttl_ = ttl;
  return *this;
}

lock_options& lock_options::renewal(bool on) {
  renewal_ = on;
  return *this;
}

lock_options& lock_options::wait_limit(holdfast::duration limit) {
  require(limit >= 0s, "wait_limit: " + in_ms(limit) + " is negative");
  wait_limit_ = detail::to_limit(limit);
  return *this;
}

lock_options& lock_options::retry(retry_policy policy) {
  retry_ = policy;
  return *this;
}

lock_options& lock_options::label(std::string text) {
  require_text(text, "label");
  label_ = std::move(text);
  return *this;
}

lock_options& lock_options::grace(holdfast::duration grace) {
  require(grace >= 0s && grace <= longest_grace, "grace: " + in_ms(grace) + " is not between 0 and 1 h");
  grace_ = grace;
  return *this;
}

lock_options& lock_options::at_least(holdfast::duration least) {
  require(least >= 0s && least <= longest_ttl, "at_least: " + in_ms(least) + " is not between 0 and 24 h");
  at_least_ = least;
  return *this;
}

lock_options& lock_options::drift_margin(holdfast::duration margin) {
  require(margin >= 0s && margin < ttl_ / 2,
          "drift_margin: " + in_ms(margin) + " is not less than half the ttl, " + in_ms(ttl_));
  drift_margin_ = margin;
  return *this;
}

client_options& client_options::locks(lock_options defaults) {
  locks_ = std::move(defaults);
  return *this;
}

client_options& client_options::flush_limit(duration limit) {
  require(limit >= 0s, "flush_limit: " + in_ms(limit) + " is negative");
  flush_limit_ = detail::to_limit(limit);
  return *this;
}

client_options& client_options::program(std::string name) {
  require_text(name, "program");
  program_ = std::move(name);
  return *this;
}

client_options& client_options::password(std::string secret) {
  password_ = nullptr;
  if (!secret.empty()) password_ = [secret = std::move(secret)] { return secret; };
  return *this;
}

client_options& client_options::password(std::function<std::string()> source) {
  password_ = std::move(source);
  return *this;
}

client_options& client_options::observer(std::function<void(const event&)> observes) {
  observer_ = std::move(observes);
  return *this;
}

}  // namespace holdfast
