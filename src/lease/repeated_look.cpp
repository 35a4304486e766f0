#include "lease/repeated_look.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/single_flight.hpp"

namespace holdfast::lease_core {

namespace {
constexpr duration between_looks = std::chrono::milliseconds{10};
}  // namespace

struct repeated_look::state {
  store::scheduler& time;
  store::port& port;
  std::string name;
  duration patience;
  on_seen seen;
  store::scheduler::timer next = 0;
  store::single_flight flight{};
  store::time_point last_look{};
};

repeated_look::repeated_look(store::scheduler& time, store::port& port, std::string name, duration patience,
                             on_seen seen)
    : state_{std::make_shared<state>(state{time, port, std::move(name), patience, std::move(seen)})} {}

repeated_look::~repeated_look() { state_->time.cancel(state_->next); }

void repeated_look::look() { look(state_); }

void repeated_look::look(const std::shared_ptr<state>& of) {
  const auto now = of->time.now();
  const auto soon = of->last_look + between_looks;
  if (!of->flight.is_in_flight() && of->last_look != store::time_point{} && now < soon)
    return look_at(of, soon);
  if (!of->flight.start()) return;
  of->time.cancel(std::exchange(of->next, 0));
  of->last_look = now;
  of->port.inspect(
      of->name, 0, now + of->patience, [weak = std::weak_ptr{of}](const store::inspected& answer) {
        const auto looked = weak.lock();
        if (!looked) return;
        const bool again = looked->flight.finish();
        const auto next = looked->seen(answer);
        if (weak.use_count() == 1) return;  // it was destroyed meanwhile
        look_at(looked, again ? std::max(looked->time.now(), looked->last_look + between_looks) : next);
      });
}

void repeated_look::look_at(const std::shared_ptr<state>& of, store::time_point when) {
  of->time.cancel(of->next);
  of->next = of->time.at(when, [weak = std::weak_ptr{of}] {
    const auto due = weak.lock();
    if (!due) return;
    due->next = 0;
    look(due);
  });
}

}  // namespace holdfast::lease_core
