#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/acquisition.hpp"
#include "core/request.hpp"
#include "core/results.hpp"
#include "core/retrying_request.hpp"

namespace holdfast::tickets {

/// Translates the port's operations into requests of this family, and its replies into the port's results:
/// all that a driver needs besides the acquisition's machine. Pure functions.
struct family {
  using request = tickets::request;
  using reply = tickets::reply;
  using link = tickets::link;
  using acquisition = tickets::acquisition;

  static request renewal(std::vector<store::hold> holds);
  static request release(const store::hold& h);
  static request downgrade(const store::hold& h);
  static request inspection(std::string name,
                            std::size_t most_waiters = std::numeric_limits<std::size_t>::max());
  static request listing(bool idle);
  /// Ends the holds with a token from `first` to `last`, both included. A hold that is granted later may have
  /// a token in between, so the range must contain only holds that have been seen: then a repeated request
  /// ends no hold that is granted later.
  static request eviction(std::string name, fencing_token first, fencing_token last);

  static std::vector<store::renewed> renewed(const reply& r);
  /// \param doubted an earlier try may have done it already.
  static store::released released(const reply& r, bool doubted);
  static store::lowered lowered(const reply& r);
  static std::optional<lock_state> inspected(const reply& r);
  static std::vector<lock_summary> listed(const reply& r);
  /// The next request of a listing that takes several.
  static std::optional<store::continuation<request>> listing_continued(const reply& r, bool idle);
  static std::size_t evicted(const reply& r);
};

}  // namespace holdfast::tickets
