// SPDX-License-Identifier: Apache-2.0
// All states that may follow a state, and what is wrong with one.
#pragma once

#include <functional>
#include <string>

#include "quorum_state.hpp"

namespace model {

class steps {
 public:
  /// \param found called with each following state, and with what happened.
  using found_function = std::function<void(state&, const std::string&)>;
  /// \param is_named whether `found` hears what happened; empty otherwise, which is faster.
  steps(const state& from, bool is_named, found_function found)
      : from_{from}, is_named_{is_named}, found_{std::move(found)} {}
  void run();

 private:
  bool release_in_vain();
  void of_client(int c);
  void of_line(int c, int n);
  void sends_again(int c, int n);
  void line_breaks(int c, int n);
  void late_request(int n);
  void time_at(int n);
  void restarts(int n);
  void carried_out(state next, int c, int n, request r, bool is_heard, const std::string& named);
  [[nodiscard]] bool is_worth_asking(int c, int n) const;
  [[nodiscard]] bool is_guard_over(int n) const;

  template <class Action, class Name>
  void take(Action act, Name name) {
    state next = from_;
    act(next);
    found_(next, is_named_ ? std::string{name()} : std::string{});
  }

  const state& from_;
  const bool is_named_;
  const found_function found_;
};

[[nodiscard]] std::string name_of(int owner);
[[nodiscard]] state first_state();
/// What is wrong after this step, or null. Notes who holds.
[[nodiscard]] const char* fault_of(const state& before, state& after);
/// Nothing is under way.
[[nodiscard]] bool is_quiet(const state& s);
/// Whether every claim is served if nothing goes wrong from now on.
[[nodiscard]] bool fair_weather_serves(state s);
/// Makes states equal that differ in nothing that matters.
void normalise(state& s);

}  // namespace model
