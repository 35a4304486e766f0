// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "simulation/client.hpp"
#include "simulation/surroundings.hpp"

namespace holdfast::sim {

/// Of all kinds of faults, those that there are in this world, and when each strikes. What
/// befalls clients and their connections is the same whatever the servers are, and is here; what befalls
/// servers is left to derived classes.
class fault_injector {
 public:
  /// A kind of fault, by its number: first the clients', then the servers', which begin at `client_faults`.
  using kind = std::uint8_t;
  enum class client_fault : kind { cut, half_open, stall, pause, kill };
  static constexpr kind client_faults = 5;

  virtual ~fault_injector() = default;
  fault_injector(const fault_injector&) = delete;
  fault_injector& operator=(const fault_injector&) = delete;

  /// Lets it come and go, and ends every fault with it. False once something was found.
  [[nodiscard]] bool pass();

 protected:
  fault_injector(surroundings& around, std::deque<client>& clients, instant until)
      : around_{around}, clients_{clients}, until_{until} {}

  /// Draws which kinds there are, and how often one strikes.
  /// \param faults how many kinds, the clients' included.
  /// \param can_be which of the servers'.
  /// \param only nothing else happens, unless empty.
  void choose(kind faults, const std::function<bool(kind)>& can_be, std::vector<kind> only = {});
  /// Which of the servers would be struck, where there are more than one. Asked for every fault.
  [[nodiscard]] virtual std::size_t pick_server() { return 0; }
  /// \param c a client, for faults that take one.
  virtual void strike_servers(kind fault_kind, client& c, std::size_t server) = 0;
  virtual void heal_servers() = 0;
  /// The line from a client to a server.
  [[nodiscard]] virtual line& way_of(client& c, std::size_t /*server*/) { return c.way; }

  [[nodiscard]] duration up_to(duration most);

  surroundings& around_;
  std::deque<client>& clients_;
  instant until_;

 private:
  void next();
  void strike(kind fault_kind);
  void strike_client(client_fault fault, client& c, line& way);
  void pause(client& c);
  void pause_now(client& c);
  void kill(client& c);

  std::vector<kind> kinds_;
  duration every_{};
};

}  // namespace holdfast::sim
