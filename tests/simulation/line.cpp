// SPDX-License-Identifier: Apache-2.0
#include "simulation/line.hpp"

#include <chrono>

namespace holdfast::sim {

using namespace std::chrono_literals;

void line::cut() {
  if (!up_) return;
  hang_up();
  in_.note("cut", from_.number(), number_);
  from_.hear_at(in_.now + delay(), [this] {
    if (cut_) cut_();
  });
  connect_soon();
}

void line::hang_up() {
  if (straggles_ && up_ && in_.chance.one_in(2)) {
    stragglers_.push_back({connection_, in_.now + in_.chance.between(0ms, 5s)});
  }
  up_ = false;
  ++connection_;
  from_.disturb_until(never, number_);
}

void line::connect_soon() {
  from_.disturb_until(never, number_);
  from_.hear_at(in_.now + in_.chance.between(2ms, 300ms), [this] { connect(); });
}

void line::connect() {
  if (up_) return;
  if (!to_.answers()) return connect_soon();
  up_ = true;
  ++connection_;
  up_last_ = down_last_ = in_.now;
  deaf_until_ = dumb_until_ = {};
  from_.calm_from(std::max(in_.now, stalled_until_), number_);
  in_.note("connected", from_.number(), number_);
  if (connected_) connected_();
}

void line::go_half_open(bool requests, bool replies, instant until) {
  if (!up_) return;
  if (requests) deaf_until_ = until;
  if (replies) dumb_until_ = until;
  from_.disturb_until(never, number_);
  in_.agenda.add(until, [this, c = connection_] {
    if (c == connection_) cut();
  });
}

void line::stall_until(instant when) {
  stalled_until_ = std::max(stalled_until_, when);
  from_.disturb_until(stalled_until_, number_);
}

void line::heal() {
  if (up_ && (in_.now < deaf_until_ || in_.now < dumb_until_)) cut();
}

}  // namespace holdfast::sim
