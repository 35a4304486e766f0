#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/owner_id.hpp"

namespace holdfast::zookeeper {

/// Whose recipes the nodes of a lock look like, so that these may contend with us for it.
enum class layout : std::uint8_t { curator, kazoo };

/// What a contender wants. `mutex` and `writer` differ in their names alone.
enum class role : std::uint8_t { mutex, writer, reader, lease };

/// A node below a lock's, by its name.
struct contender {
  std::string node;
  role wants{};
  std::int32_t number = 0;       // given by the parent, in the order of coming up to its end
  std::optional<owner_id> guid;  // of its maker's protection against lost answers

  [[nodiscard]] bool excludes() const { return wants == role::mutex || wants == role::writer; }
};

/// Of a guid that this library makes: UUID version 8, "custom". Java's and Python's random ones are of
/// version 4. So a node's name tells whose it is, whatever others have written into it.
[[nodiscard]] owner_id marked_as_ours(const owner_id& guid);
[[nodiscard]] bool is_marked_as_ours(const owner_id& guid);

/// The name to create; the server puts a number behind it.
/// Curator: `_c_<guid>-lock-`, `-__WRIT__`, `-__READ__`, `-lease-` (InterProcessMutex,
/// InterProcessReadWriteLock, InterProcessSemaphoreV2, each with protection); kazoo: `<32 hex>__lock__`,
/// `__rlock__`.
[[nodiscard]] std::string node_name(layout style, role wants, const owner_id& guid);

/// The name of the reader's node that a writer becomes by a downgrade: with the writer's own number, so that
/// nobody who queues behind it comes first (Curator's recipe).
[[nodiscard]] std::string downgraded(layout style, std::int32_t number, const owner_id& guid);

/// Nothing for a node that is no contender in this layout.
[[nodiscard]] std::optional<contender> parse(layout style, std::string_view node);

/// In any layout.
[[nodiscard]] bool looks_like_contender(std::string_view node);

/// ZooKeeper's counter stays at its end, 2147483647 (3.5 and newer), so that from then on all get that
/// number; but a child that comes while the one before is still being written gets -2147483648, the next one
/// 1 more, until all are written, and 2147483647 is given again. Neither tells who came first.
[[nodiscard]] constexpr bool is_of_the_end(std::int32_t number) {
  return number < 0 || number == std::numeric_limits<std::int32_t>::max();
}

/// Whether one number was given before another by the same parent, unless both are of the end. An order of
/// all numbers: a parent that was made anew gives some that are far from those that others remember.
[[nodiscard]] constexpr bool is_before(std::int32_t one, std::int32_t other) {
  return static_cast<std::uint32_t>(one) < static_cast<std::uint32_t>(other);
}

}  // namespace holdfast::zookeeper
