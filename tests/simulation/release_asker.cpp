// SPDX-License-Identifier: Apache-2.0
#include "simulation/release_asker.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace holdfast::sim {

using namespace std::chrono_literals;

void release_asker::live() {
  host_.hear_after(around_.requests->chance.between(10ms, 1s), [this] {
    if (is_retired_) return;
    ask();
    live();
  });
}

void release_asker::ask() {
  const std::size_t name = around_.requests->chance.below(names);
  around_.in.note("requests a release", host_.number(), name);
  port_.request_release(name_of(name), std::nullopt, "a deployment", host_.now() + 1s,
                        [](const store::notified&) {});
}

}  // namespace holdfast::sim
