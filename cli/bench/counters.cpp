#include "bench/counters.hpp"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <string_view>

namespace holdfast::cli {

namespace {

/// The server counts what scripts call like what clients send. These are never called by a script of ours.
bool sent_by_client(std::string_view command) {
  constexpr std::array<std::string_view, 13> sent{
      "eval",  "fcall",  "subscribe", "ssubscribe", "ping", "unsubscribe", "sunsubscribe",
      "hello", "select", "client",    "script",     "wait", "scan"};
  return std::ranges::any_of(sent, [&](std::string_view each) { return command.starts_with(each); });
}

/// The questions of this class itself.
bool ours(std::string_view command) { return command == "info" || command == "auth" || command == "quit"; }

}  // namespace

void store_counters::start() { before_ = read(); }

void store_counters::stop() { after_ = read(); }

void store_counters::add_to(std::vector<figure>& figures, const std::string& what, double count) const {
  if (!before_ || !after_) return;
  const double commands = after_->commands - before_->commands;
  const double seconds = std::chrono::duration<double>(after_->at - before_->at).count();
  if (!what.empty() && count > 0) {
    figures.push_back({"store_commands_per_" + what, commands / count, "by the server: commands sent to it"});
    figures.push_back({"store_calls_per_" + what, (after_->calls - before_->calls) / count,
                       "by the server: commands carried out, in scripts too"});
  }
  figures.push_back({"store_commands_per_s", commands / seconds, "by the server: commands sent to it"});
}

std::optional<store_counters::reading> store_counters::read() const {
  const auto counts = counted_by_server(store_);
  if (!counts) return std::nullopt;
  reading now;
  now.at = bench_clock::now();
  for (const auto& [command, calls] : *counts) {
    if (ours(command)) continue;
    now.calls += calls;
    if (sent_by_client(command)) now.commands += calls;
  }
  return now;
}

}  // namespace holdfast::cli
