#pragma once

#include <string>
#include <string_view>

#include "runtime/io_deadline.hpp"

namespace holdfast::zookeeper {

/// Sends one of the servers' administrative commands ("srvr", "conf", "mntr"), over a connection of its own.
/// Blocks.
/// \param address "127.0.0.1:2181", or an IPv6 address and a port behind its last colon.
/// \return the answer, at most 1 MiB of it. \throws runtime::connection_error.
[[nodiscard]] std::string ask_four_letter(const std::string& address, std::string_view command,
                                          runtime::io_deadline limit);

}  // namespace holdfast::zookeeper
