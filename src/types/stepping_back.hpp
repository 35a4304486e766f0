#pragma once

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

namespace holdfast::detail {

/// What one thread does about `std::lock`, which, when it finds one of several names taken, lets go of what
/// it has and waits for that one, all without a pause. Two that name them in opposite orders then wait for
/// one another, get in at the same moment, and change places for as long as their steps take equally long;
/// and a fair queue sees to that. So whoever waits after a try in vain and letting go does so after a while
/// of random length (as in Ethernet: Metcalfe and Boggs, 1976), long enough for the other to take all of them
/// meanwhile.
class stepping_back {
 public:
  using duration = std::chrono::steady_clock::duration;

  /// Without waiting.
  void tried_in_vain(duration took) noexcept {
    took_ = took;
    has_let_go_ = false;
  }
  void let_go() noexcept { has_let_go_ = took_ > duration::zero(); }
  void forget() noexcept { tried_in_vain(duration::zero()); }
  /// Before a wait without a limit.
  void step_back() {
    if (const auto longest = longest_pause(); longest > duration::zero()) {
      std::random_device entropy;
      std::this_thread::sleep_for(
          duration{std::uniform_int_distribution{duration::rep{0}, longest.count()}(entropy)});
    }
    forget();
  }
  [[nodiscard]] duration longest_pause() const noexcept {
    return has_let_go_ ? std::min<duration>(8 * took_, std::chrono::seconds{1}) : duration::zero();
  }

 private:
  duration took_{};
  bool has_let_go_ = false;
};

}  // namespace holdfast::detail
