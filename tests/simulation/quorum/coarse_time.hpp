// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <utility>

#include "simulation/host.hpp"

namespace holdfast::sim {

/// The clock of a computer as a coarse one shows it, whose readings are multiples of the grain. Claims of
/// several clients get equal numbers then.
class coarse_time final : public store::scheduler {
 public:
  coarse_time(host& inner, duration grain) : inner_{inner}, grain_{grain} {}

  [[nodiscard]] store::time_point now() const override {
    const auto shown = inner_.now().time_since_epoch();
    return store::time_point{shown - shown % grain_};
  }
  [[nodiscard]] std::uint64_t random() override { return inner_.random(); }
  [[nodiscard]] owner_id new_owner() override { return inner_.new_owner(); }
  timer at(store::time_point when, std::function<void()> callback) override {
    const auto early = when.time_since_epoch() % grain_;
    return inner_.at(early.count() == 0 ? when : when + (grain_ - early), std::move(callback));
  }
  void cancel(timer number) override { inner_.cancel(number); }
  void defer_callback(std::function<void()> callback) override { inner_.defer_callback(std::move(callback)); }

 private:
  host& inner_;
  store::time_point::duration grain_;
};

}  // namespace holdfast::sim
