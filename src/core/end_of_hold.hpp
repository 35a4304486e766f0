#pragma once

#include <cstdint>
#include <utility>

#include "core/backoff.hpp"
#include "core/machine.hpp"
#include "core/request.hpp"

namespace holdfast::tickets {

/// The machine that ends a hold: at once by a release, or at a given time, until which the store keeps it.
/// Then it is a last renewal, with the time that is left as its ttl; each try counts anew what is left, and
/// where nothing is left, it is a release. It is tried again until the store confirms it, or the hold has
/// surely ended. Carrying it out twice is safe.
///
/// A store that refuses may change its mind: rights come back. The caller is answered at the first refusal,
/// and nobody who closes the client waits for the tries behind it.
class end_of_hold {
 public:
  using step = store::actions<request, store::released>;

  /// \param until the hold ends then; a time that has passed: at once.
  /// \param give_up the hold has surely ended by then, if no try has reached the store.
  end_of_hold(store::hold hold, store::time_point until, store::time_point give_up)
      : hold_{std::move(hold)}, until_{until}, give_up_{give_up}, pause_{retry_policy{}} {}

  [[nodiscard]] step resume(store::time_point now, std::uint64_t random, const store::event<reply>& e);

 private:
  step send(store::time_point now);
  step retry(store::time_point now, std::uint64_t random);
  step fail(store::time_point now, std::uint64_t random, const store::request_error& reason);
  static step end(store::released outcome);

  store::hold hold_;
  store::time_point until_;
  store::time_point give_up_;
  store::backoff pause_;
  bool in_flight_ = false;
  bool refused_ = false;
  bool doubted_ = false;  // an earlier try may have been carried out
};

}  // namespace holdfast::tickets
