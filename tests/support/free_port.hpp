#pragma once

#include <cstdint>

namespace holdfast::test {

/// A TCP port on the loopback that nobody listens on now, and that no outgoing connection will be given: a
/// server that comes back after a while finds it still free.
[[nodiscard]] std::uint16_t free_port();

}  // namespace holdfast::test
