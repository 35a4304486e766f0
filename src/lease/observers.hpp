// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>

#include "core/leader_tracker.hpp"
#include "core/port.hpp"
#include "core/scheduler.hpp"
#include "core/single_flight.hpp"

namespace holdfast::lease_core {

/// The observers of elections on one client: each looks at its name after each notification, and now and then
/// without one. At most one look of an observer is under way, so that an older state is never seen after a
/// newer one of the same server. Its looks begin at least 10 ms apart: notifications may come in any number.
/// Called under the core lock; the reports are called under it, too.
class observers {
 public:
  using observer_id = std::uint64_t;
  using on_report = std::function<void(observation)>;

  /// \param patience how long a look is tried again before its error is reported.
  observers(store::scheduler& time, store::port& port, duration patience)
      : time_{time}, port_{port}, patience_{patience} {}
  ~observers();
  observers(const observers&) = delete;
  observers& operator=(const observers&) = delete;

  /// Begins with a look.
  observer_id add(std::string name, on_report report);
  /// Something may have changed at the store.
  void look(observer_id id);
  /// Reports nothing from now on. A report may call this.
  void remove(observer_id id);
  /// Reports errc::closed to all of them, and removes them.
  void close();

 private:
  struct observer {
    std::string name;
    on_report report;
    store::leader_tracker tracker{};
    store::scheduler::timer next = 0;
    store::single_flight flight{};
    store::time_point last_look{};
  };

  void on_state(observer_id id, const store::inspected& answer);
  void look_at(observer_id id, observer& o, store::time_point when);

  store::scheduler& time_;
  store::port& port_;
  const duration patience_;
  observer_id last_ = 0;
  std::unordered_map<observer_id, observer> all_;
};

}  // namespace holdfast::lease_core
