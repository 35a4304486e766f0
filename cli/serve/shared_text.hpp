// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::cli {

/// A text that is made once, and sent by any number of connections.
using shared_text = std::shared_ptr<const std::string>;
/// Texts that are sent one after the other: what differs from reply to reply is small, and apart from what
/// does not.
using text_parts = std::vector<shared_text>;

[[nodiscard]] inline shared_text share(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

[[nodiscard]] inline std::size_t size_of(const text_parts& parts) {
  std::size_t size = 0;
  for (const auto& each : parts) size += each->size();
  return size;
}

}  // namespace holdfast::cli
