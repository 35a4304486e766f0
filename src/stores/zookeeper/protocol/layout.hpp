// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/owner_id.hpp"

namespace holdfast::zookeeper {

/// The library whose recipes the nodes of a lock follow, so that its clients can contend for the lock.
enum class layout : std::uint8_t { curator, kazoo };

/// The role of a contender. `mutex`, `writer` and `latch` differ in the names of their nodes only.
enum class role : std::uint8_t { mutex, writer, latch, reader, lease };

/// A node below a lock's, by its name.
struct contender {
  std::string node;
  role wants{};
  std::int32_t number = 0;       // from the parent's counter, in the order of creation
  std::optional<owner_id> guid;  // for protection against lost answers

  [[nodiscard]] bool excludes() const {
    return wants == role::mutex || wants == role::writer || wants == role::latch;
  }
};

/// The mark of a guid that this library makes: UUID version 8, "custom". Java's and Python's random ones have
/// version 4. So a node's name shows its library, whatever its data.
[[nodiscard]] owner_id marked_as_ours(const owner_id& guid);
[[nodiscard]] bool is_marked_as_ours(const owner_id& guid);

/// The name to create; the server puts a number behind it.
/// Curator: `_c_<guid>-lock-`, `-__WRIT__`, `-__READ__`, `-latch-`, `-lease-` (InterProcessMutex,
/// InterProcessReadWriteLock, LeaderLatch, InterProcessSemaphoreV2, each with protection); kazoo: `<32
/// hex>__lock__`, of its Election, too, and `__rlock__`.
[[nodiscard]] std::string node_name(layout style, role wants, const owner_id& guid);

/// The name of the reader's node that a writer becomes by a downgrade: with the writer's own number, so that
/// nobody who queues behind it comes first (Curator's recipe).
[[nodiscard]] std::string downgraded(layout style, std::int32_t number, const owner_id& guid);

/// Empty for a node that is no contender in this layout.
[[nodiscard]] std::optional<contender> parse(layout style, std::string_view node);

/// The same of a path. Empty for a node that is not a child of `parent`, too.
[[nodiscard]] std::optional<contender> contender_at(layout style, std::string_view parent,
                                                    std::string_view path);

/// The contenders among `children` with this guid.
[[nodiscard]] std::vector<contender> made_with(layout style, const owner_id& guid,
                                               const std::vector<std::string>& children);

/// The number that a server puts behind the name of a sequential node; empty for other texts.
[[nodiscard]] std::optional<std::int32_t> number_in(std::string_view digits);

/// In any layout.
[[nodiscard]] bool looks_like_contender(std::string_view node);

/// Whether a number is from the end of the counter. ZooKeeper's counter stops at 2147483647 (3.5 and newer),
/// so from then on all children get that number. A child that is created while the one before is still being
/// written gets -2147483648, the next one 1 more, until all are written; then 2147483647 is given again. Such
/// numbers do not show the order of creation.
[[nodiscard]] constexpr bool is_of_the_end(std::int32_t number) {
  return number < 0 || number == std::numeric_limits<std::int32_t>::max();
}

/// Whether a parent gave one number before another, unless both are from the end of its counter. It orders
/// all numbers, also those of a parent that was removed and created again, which are far from the remembered
/// ones.
[[nodiscard]] constexpr bool is_before(std::int32_t one, std::int32_t other) {
  return static_cast<std::uint32_t>(one) < static_cast<std::uint32_t>(other);
}

}  // namespace holdfast::zookeeper
