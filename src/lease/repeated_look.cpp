#include "lease/repeated_look.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

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
  bool looking = false;
  bool look_again = false;  // a notification came during the look, which may be older
  store::time_point last_look{};
};

repeated_look::repeated_look(store::scheduler& time, store::port& port, std::string name, duration patience,
                             on_seen seen)
    : state_{std::make_shared<state>(state{time, port, std::move(name), patience, std::move(seen)})} {}

repeated_look::~repeated_look() { state_->time.cancel(state_->next); }

bool repeated_look::is_looking() const { return state_->looking; }

void repeated_look::look() { look(state_); }

void repeated_look::look(const std::shared_ptr<state>& of) {
  if (of->looking) {
    of->look_again = true;
    return;
  }
  const auto now = of->time.now();
  if (of->last_look != store::time_point{} && now < of->last_look + between_looks) {
    return look_at(of, of->last_look + between_looks);
  }
  of->port.inspect(of->name, 0, now + of->patience,
                   [weak = std::weak_ptr{of}](const store::inspected& answer) {
                     const auto looked = weak.lock();
                     if (!looked) return;
                     looked->looking = false;
                     const auto next = looked->seen(answer);
                     if (weak.use_count() == 1) return;  // it was destroyed meanwhile
                     const auto soon = looked->last_look + between_looks;
                     look_at(looked, looked->look_again ? std::max(looked->time.now(), soon) : next);
                   });
  // Once it is under way, for it may fail; the port answers later.
  of->time.cancel(std::exchange(of->next, 0));
  of->looking = true;
  of->look_again = false;
  of->last_look = now;
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
