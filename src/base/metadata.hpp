// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "holdfast/fencing_token.hpp"
#include "holdfast/state.hpp"

namespace holdfast {

/// Writes a claimant as the line of JSON that stores keep beside a claim.
[[nodiscard]] std::string to_metadata(const claimant& source);

/// The reverse. Never fails: what is missing or of another type stays empty, and text that is not JSON is
/// taken as the label, because a foreign client may have written it.
[[nodiscard]] claimant from_metadata(std::string_view text);

/// This process: host name, pid, and the name it was started by.
[[nodiscard]] claimant this_process();

/// A request to release a hold stands at the end of the hold's metadata, as the last
/// member of the JSON object. Stores put it there without parsing the metadata: from this text on, which
/// occurs nowhere else in it because JSON escapes quotes, a former request is cut off.
inline constexpr std::string_view release_request_mark = ",\"release_request\":";

/// A text of JSON, with its quotes.
[[nodiscard]] std::string json_text(std::string_view text);

/// The metadata with a request in place of a former one. Metadata that is no object stays as it is.
[[nodiscard]] std::string with_release_request(std::string_view metadata, std::string_view reason);

/// The metadata with the request, if there is one, that stands in the former metadata of the hold.
[[nodiscard]] std::string with_request_of(std::string_view metadata, std::string_view former);

// The fencing token of a hold stands in its metadata where several servers decide: one that has lost a hold
// and got it back, or that has granted it late, may not accept the token any more.

/// Puts the token into the metadata, in place of a former one. Metadata that is no object stays as it is.
[[nodiscard]] std::string with_hold_token(std::string_view metadata, fencing_token token);

/// Zero where there is none.
[[nodiscard]] fencing_token hold_token_in(std::string_view metadata);

}  // namespace holdfast
