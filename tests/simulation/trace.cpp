// SPDX-License-Identifier: Apache-2.0
#include "simulation/trace.hpp"

#include <cstdio>

namespace holdfast::sim {

void trace::note(instant when, std::string_view event, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  mix(static_cast<std::uint64_t>(when.time_since_epoch().count()));
  mix(event.size() << 8U | static_cast<unsigned char>(event.front()));
  mix(a);
  mix(b);
  mix(c);
  if (!prints_) return;
  line(when,
       std::string{event} + " " + std::to_string(a) + " " + std::to_string(b) + " " + std::to_string(c));
}

void trace::line(instant when, const std::string& text) const {
  if (!prints_) return;
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(when.time_since_epoch()).count();
  std::printf("%3lld.%06lld  %s\n", static_cast<long long>(us / 1'000'000),
              static_cast<long long>(us % 1'000'000), text.c_str());
}

}  // namespace holdfast::sim
