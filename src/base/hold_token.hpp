#pragma once

#include <string>
#include <string_view>

#include "holdfast/fencing_token.hpp"

namespace holdfast {

/// The fencing token of a hold, in its metadata (see metadata.hpp). Where several servers decide, one that
/// has lost a hold and got it back, or that has granted it late, may not accept the token any more. There it
/// stands in the metadata alone, for those who look.

/// Puts the token into the metadata, in place of a former one. Metadata that is no object stays as it is.
[[nodiscard]] std::string with_hold_token(std::string_view metadata, fencing_token token);

/// Zero where there is none.
[[nodiscard]] fencing_token hold_token_in(std::string_view metadata);

}  // namespace holdfast
