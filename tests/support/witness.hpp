// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include <holdfast/fencing_token.hpp>
#include <holdfast/state.hpp>

namespace holdfast::test {

/// Sees whether holders overlap, and is no lock itself: a page of a file that all contenders, threads and
/// processes alike, map and count in. A turn that is held alone is counted by a plain read and a plain
/// write with a pause between them, as the application's own work would be: an overlap loses counts.
class witness {
 public:
  /// Creates the file, or joins those who have it already.
  explicit witness(const std::string& path);
  ~witness();
  witness(const witness&) = delete;
  witness& operator=(const witness&) = delete;

  /// Goes in, looks around, counts, and goes out. Called while holding. A permit's `capacity` is the
  /// semaphore's.
  void visit(mode mode, fencing_token token, std::int64_t permits = 1, std::int64_t capacity = 0);

  /// How often anyone met whom it must not meet, or had a token that was not above an earlier holder's.
  [[nodiscard]] std::int64_t overlaps() const noexcept { return page_->overlaps; }
  /// Visits, by the counter that only an undisturbed read-modify-write keeps right (exclusive visits),
  /// and by one that always is.
  [[nodiscard]] std::int64_t fragile_count() const noexcept { return page_->fragile_count; }
  [[nodiscard]] std::int64_t count() const noexcept { return page_->count; }

 private:
  // Foreign clients (tests/interop) know these by their place: eight bytes each, in this order.
  struct page {
    std::atomic<std::int64_t> writers;
    std::atomic<std::int64_t> readers;
    std::atomic<std::int64_t> permits;
    std::atomic<std::uint64_t> last_token;  // of exclusive holders
    std::atomic<std::int64_t> fragile_count;
    std::atomic<std::int64_t> count;
    std::atomic<std::int64_t> overlaps;
  };

  void visit_alone(fencing_token token);
  void visit_shared();
  void visit_permits(std::int64_t permits, std::int64_t capacity);

  page* page_;
};

}  // namespace holdfast::test
