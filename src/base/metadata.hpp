#pragma once

#include <string>
#include <string_view>

#include "holdfast/state.hpp"

namespace holdfast {

/// Writes a claimant as the line of JSON that stores keep beside a claim.
[[nodiscard]] std::string to_metadata(const claimant& source);

/// The reverse. Never fails: what is missing or of another type stays empty, and text that is not JSON is
/// taken as the label, because a foreign client may have written it.
[[nodiscard]] claimant from_metadata(std::string_view text);

/// This process: host name, pid, and the name it was started by.
[[nodiscard]] claimant this_process();

}  // namespace holdfast
