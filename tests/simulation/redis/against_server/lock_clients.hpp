#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/link.hpp"
#include "simulation/redis/against_server/compared_servers.hpp"
#include "simulation/redis/against_server/lock_steps.hpp"
#include "stores/redis/protocol/dialect.hpp"

namespace holdfast::sim {

/// Two clients of ours at one server, which speak to it as a link would. What they learn becomes a value that
/// can be compared with another server's: its texts to the letter, its numbers, which are times in
/// milliseconds, with a tolerance.
class lock_clients {
 public:
  lock_clients(compared_server& server, const redis::dialect& in);

  /// The outcome, and the notifications that each client got on its channel.
  [[nodiscard]] redis::value perform(const lock_step& s);
  /// The kind, the size and the time left of each key.
  [[nodiscard]] redis::value all_keys();

 private:
  using claim = std::pair<std::size_t, std::size_t>;  // name, owner

  [[nodiscard]] tickets::link::outcome ask(const tickets::request& request, std::size_t client);
  [[nodiscard]] redis::value play(const lock_step& s);
  [[nodiscard]] tickets::request request_of(const lock_step& s) const;
  [[nodiscard]] redis::value value_of(const tickets::link::outcome& o);
  [[nodiscard]] redis::value value_of(const tickets::place& p);
  [[nodiscard]] redis::value value_of(const lock_state& s);
  [[nodiscard]] redis::value value_of(const lock_summary& s);
  [[nodiscard]] redis::value notifications_for(std::size_t client);
  [[nodiscard]] std::string order_of(fencing_token t);

  compared_server* server_;
  const redis::dialect* in_;
  std::map<claim, fencing_token> tokens_;
  std::map<std::uint64_t, std::size_t> order_;  // of the tokens' first appearance
};

}  // namespace holdfast::sim
