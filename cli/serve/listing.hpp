// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "serve/shared_text.hpp"
#include "serve/snapshot.hpp"
#include <holdfast/boot_clock.hpp>

namespace holdfast::cli {

/// A snapshot as text.
struct listing {
  std::uint64_t revision = 0;
  boot_clock::time_point taken_at{};
  std::size_t total = 0;
  shared_text rows;  ///< an array

  /// `{"revision":…,"taken_ago_s":…,"total":…,"locks":[…]}`
  [[nodiscard]] text_parts describe(boot_clock::time_point now) const;
};

/// The text of the last snapshot, for all who ask. Of 20 000 rows it has 8 MB, and a slow reader keeps the
/// one that it began with.
class listing_cache {
 public:
  /// While readers keep many texts, whoever asks shares the last one of them, up to this age. The reply says
  /// how old it is.
  static constexpr std::chrono::seconds oldest{10};

  /// \param most_bytes of all texts that readers keep, each counted once.
  explicit listing_cache(std::size_t most_bytes = 24 << 20) : most_bytes_{most_bytes} {}

  /// \param last of the store. \param now the time.
  [[nodiscard]] const listing& get(const snapshot& last, boot_clock::time_point now);

 private:
  [[nodiscard]] std::size_t bytes_kept();

  std::size_t most_bytes_;
  listing last_;
  std::vector<std::weak_ptr<const std::string>> texts_;  // all that were made, and are still kept by somebody
};

}  // namespace holdfast::cli
