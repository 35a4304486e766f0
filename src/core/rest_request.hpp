#pragma once

#include <cstdint>
#include <utility>

#include "core/backoff.hpp"
#include "core/machine.hpp"
#include "core/request.hpp"

namespace holdfast::tickets {

/// The machine that leaves a hold to the store until a given time: a last renewal, with the time that is left
/// as its ttl. Each try counts anew what is left; where nothing is left, it releases the hold. It is tried
/// again until the store confirms it, or the hold has surely ended. Carrying it out twice is safe.
class rest_request {
 public:
  using step = store::actions<request, store::released>;

  /// \param until the hold ends then.
  /// \param give_up the hold has surely ended by then, if no try has reached the store.
  rest_request(store::hold hold, store::time_point until, store::time_point give_up)
      : hold_{std::move(hold)}, until_{until}, give_up_{give_up}, pause_{retry_policy{}} {}

  [[nodiscard]] step resume(store::time_point now, std::uint64_t random, const store::event<reply>& e);

 private:
  step send(store::time_point now);
  step retry(store::time_point now, std::uint64_t random);
  static step end(store::released outcome);

  store::hold hold_;
  store::time_point until_;
  store::time_point give_up_;
  store::backoff pause_;
  bool in_flight_ = false;
  bool doubted_ = false;  // an earlier try may have been carried out
};

}  // namespace holdfast::tickets
