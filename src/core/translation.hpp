#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/request.hpp"
#include "core/results.hpp"
#include "core/retrying_request.hpp"

namespace holdfast::tickets {

// Translates the port's operations into requests, and replies into the port's results. Pure functions.

[[nodiscard]] request renew_request(std::vector<store::hold> holds);
[[nodiscard]] request release_request(const store::hold& h);
[[nodiscard]] request downgrade_request(const store::hold& h);
[[nodiscard]] request annotate_request(const store::hold& h, std::shared_ptr<const std::string> metadata);
[[nodiscard]] request inspect_request(std::string name,
                                      std::size_t most_waiters = std::numeric_limits<std::size_t>::max());
[[nodiscard]] request list_request(bool idle);
/// Ends the holds with a token from `first` to `last`, both included. A hold that is granted later may have a
/// token in between, so the range must contain only holds that have been seen: then a repeated request ends
/// no hold that is granted later.
[[nodiscard]] request force_release_request(std::string name, fencing_token first, fencing_token last);

/// \param token zero: all holds of the name.
[[nodiscard]] request request_release_request(std::string name, fencing_token token,
                                              std::shared_ptr<const std::string> reason);

[[nodiscard]] std::vector<store::renewed> renew_results(const reply& r);
/// \param doubted an earlier try may have done it already.
[[nodiscard]] store::released release_result(const reply& r, bool doubted);
[[nodiscard]] store::lowered downgrade_result(const reply& r);
[[nodiscard]] store::annotated annotate_result(const reply& r);
[[nodiscard]] std::optional<lock_state> inspect_result(const reply& r);
[[nodiscard]] std::vector<lock_summary> list_result(const reply& r);
/// The next request of a listing that takes several.
[[nodiscard]] std::optional<store::continuation<request>> next_list_request(const reply& r, bool idle);
/// The same, of an inspection.
[[nodiscard]] std::optional<store::continuation<request>> next_inspect_request(const reply& r,
                                                                               const std::string& name,
                                                                               std::size_t most_waiters);
/// The number of holds that were ended, or asked to be released.
[[nodiscard]] std::size_t count_result(const reply& r);

}  // namespace holdfast::tickets
