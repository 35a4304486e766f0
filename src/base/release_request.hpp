#pragma once

#include <string>
#include <string_view>

namespace holdfast {

/// A request to release a hold stands at the end of the hold's metadata (see metadata.hpp), as the last
/// member of the JSON object. Stores put it there without parsing the metadata: from this text on, which
/// occurs nowhere else in it because JSON escapes quotes, a former request is cut off.
inline constexpr std::string_view release_request_mark = ",\"release_request\":";

/// The reason as a text of JSON, with its quotes.
[[nodiscard]] std::string quoted_reason(std::string_view reason);

/// The metadata with a request in place of a former one. Metadata that is no object stays as it is.
[[nodiscard]] std::string with_release_request(std::string_view metadata, std::string_view reason);

}  // namespace holdfast
