#pragma once

#include <utility>

#include "core/caller.hpp"
#include "core/port.hpp"
#include "runtime/driver.hpp"
#include "runtime/event_loop.hpp"

namespace holdfast::runtime {

/// An opened store: its port, and the means by which callers help it along.
class backend {
 public:
  backend() = default;
  backend(const backend&) = delete;
  backend& operator=(const backend&) = delete;
  virtual ~backend() = default;

  [[nodiscard]] virtual store::port& port() = 0;
  /// See store::link.
  virtual void help(store::caller& caller) = 0;
  virtual bool drive() = 0;
  virtual void kick() = 0;
  /// Cuts the link: no reply arrives any more, no thread of it is left. Idempotent.
  virtual void shut() = 0;
};

/// A link and the driver over it.
template <class Link>
class connected final : public backend {
 public:
  template <class... Arguments>
  explicit connected(event_loop& on, Arguments&&... link_arguments)
      : link_{on, std::forward<Arguments>(link_arguments)...}, driver_(driver_over(on, link_)) {
    driver_.report_to(on.journal());
  }
  ~connected() override { connected::shut(); }  // before the driver goes, to which the link reports
  connected(const connected&) = delete;
  connected& operator=(const connected&) = delete;

  [[nodiscard]] store::port& port() override { return driver_; }
  void help(store::caller& caller) override { link_.help(caller); }
  bool drive() override { return link_.drive(); }
  void kick() override { link_.kick(); }
  void shut() override { link_.shut(); }

 private:
  /// The link's threads, which run already, may be about to read the handlers that the driver sets.
  static driver driver_over(event_loop& on, Link& link) {
    const core_lock now{on};
    return driver{on, link};
  }

  Link link_;
  driver driver_;
};

}  // namespace holdfast::runtime
