// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace holdfast::faults {

/// A text in an answer of RESP.
inline std::string bulk(std::string_view text) {
  return "$" + std::to_string(text.size()) + "\r\n" + std::string{text} + "\r\n";
}

}  // namespace holdfast::faults
