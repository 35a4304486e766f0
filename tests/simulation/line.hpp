// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "simulation/host.hpp"
#include "simulation/site.hpp"

namespace holdfast::sim {

/// The way from one client to the server: one connection after another, each in order both ways, with every
/// fault that a network has.
class line {
 public:
  /// \param number of this line among those of its host.
  line(scene& in, host& from, site& to, duration latency, std::size_t number = 0)
      : in_{in}, from_{from}, to_{to}, latency_{latency}, number_{number} {}

  /// Who is told, under the core lock, that the connection is gone; what was under way may have arrived or
  /// not.
  void on_cut(std::function<void()> callback) { cut_ = std::move(callback); }

  /// Who is told, under the core lock, that there is a new one.
  void on_connected(std::function<void()> callback) { connected_ = std::move(callback); }
  /// From now on, the server is told to end the connection before as soon as there is a new one.
  void kill_former() { kills_former_ = true; }
  /// From now on the server learns late that a connection is gone: requests that were under way when it broke
  /// may be carried out seconds later, after those of the next connection.
  void let_requests_straggle() { straggles_ = true; }

  [[nodiscard]] bool is_up() const { return up_; }
  /// Whether nothing that was sent has still to arrive at the server.
  [[nodiscard]] bool is_idle() const { return up_ && up_last_ <= in_.now && in_.now >= deaf_until_; }
  /// The number of the connection; those before are closed.
  [[nodiscard]] std::uint32_t connection() const { return connection_; }

  template <class Function>
  void to_server(Function f) {
    if (!up_) return;
    if (in_.now < deaf_until_) {
      if (!straggles_) return;
      up_last_ = std::max(up_last_, deaf_until_);  // sent again and again until the network carries it
    }
    up_last_ = arrival(up_last_);
    in_.agenda.add(up_last_,
                   [this, c = connection_, f = std::move(f)]() mutable { arrive(c, std::move(f)); });
  }
  template <class Function>
  void to_client(std::uint32_t over, Function f) {
    if (over != connection_ || in_.now < dumb_until_) return;
    down_last_ = arrival(down_last_);
    from_.hear_at(down_last_, [this, over, f = std::move(f)]() mutable {
      if (over == connection_) f();
    });
  }
  /// How long a single message takes now.
  [[nodiscard]] duration delay() {
    const duration usual = in_.chance.between(latency_ / 2, latency_ * 2);
    return in_.chance.one_in(64) ? usual * 10 : usual;
  }

  /// Both ends hear of it at once.
  void cut();
  /// Nothing of what is sent now arrives; after that time, the other end says that it knows no such
  /// connection.
  void go_half_open(bool requests, bool replies, instant until);
  /// Everything sent from now on waits until then.
  void stall_until(instant when);
  /// The process at this end is gone.
  void hang_up();
  void connect_soon();
  /// No fault lasts beyond this moment.
  void heal();

 private:
  [[nodiscard]] instant arrival(instant last) {
    return std::max(last, std::max(in_.now, stalled_until_) + delay());
  }
  void connect();
  template <class Function>
  void arrive(std::uint32_t over, Function f) {
    // Of a connection that is closed, what had left may still arrive.
    if (over != connection_) {
      if (kills_former_ && up_) return;
      const instant late = straggles_ ? late_until(over) : instant{};
      if (in_.now < late) {
        return in_.agenda.add(late, [this, over, f = std::move(f)]() mutable { arrive(over, std::move(f)); });
      }
      if (late == instant{} && in_.chance.one_in(2)) return;
    }
    to_.enter(std::move(f));
  }
  /// When the server carries out what is left of a connection that is closed; the epoch: as it comes.
  [[nodiscard]] instant late_until(std::uint32_t over) const {
    const auto found = std::find_if(stragglers_.begin(), stragglers_.end(),
                                    [&](const straggler& s) { return s.connection == over; });
    return found == stragglers_.end() ? instant{} : found->until;
  }

  struct straggler {
    std::uint32_t connection = 0;
    instant until{};
  };

  scene& in_;
  host& from_;
  site& to_;
  duration latency_;
  std::size_t number_;
  std::function<void()> cut_;
  std::function<void()> connected_;
  bool kills_former_ = false;
  bool straggles_ = false;
  std::vector<straggler> stragglers_;
  bool up_ = false;
  std::uint32_t connection_ = 0;
  instant up_last_{};
  instant down_last_{};
  instant stalled_until_{};
  instant deaf_until_{};
  instant dumb_until_{};
};

}  // namespace holdfast::sim
