#pragma once

#include <span>

#include "stores/doctor/examination.hpp"

namespace holdfast::redis {

/// The conditions of docs/stores/redis.md, of a server; and for each right that
/// its user lacks, and of its fences.
[[nodiscard]] std::span<const doctor::condition> server_conditions();
[[nodiscard]] std::span<const doctor::condition> right_conditions();
[[nodiscard]] std::span<const doctor::condition> fence_conditions();
/// Of a server that does not answer, one of several.
[[nodiscard]] std::span<const doctor::condition> answer_conditions();
/// Of one Sentinel, and of all together.
[[nodiscard]] std::span<const doctor::condition> sentinel_conditions();
[[nodiscard]] std::span<const doctor::condition> primary_conditions();
/// Of the slots of a cluster.
[[nodiscard]] std::span<const doctor::condition> slot_conditions();
/// The conditions of docs/stores/redlock.md, of a server and of all together.
[[nodiscard]] std::span<const doctor::condition> voter_conditions();
[[nodiscard]] std::span<const doctor::condition> set_conditions();

}  // namespace holdfast::redis
