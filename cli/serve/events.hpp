// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "serve/shared_text.hpp"

namespace holdfast::cli {

/// One event of a stream, as it is sent (server-sent events, WHATWG HTML section 9.2).
/// \param data one line.
[[nodiscard]] text_parts event_parts(std::string_view kind, text_parts data);
[[nodiscard]] shared_text event_text(std::string_view kind, std::string_view data);

/// How far the reader of a stream is.
struct event_cursor {
  std::uint64_t revision = 0;  ///< of the locks; zero: it has none yet
  std::uint64_t status = 0;    ///< of the status; likewise
};

/// The events of all streams. A text is made once and shared. Whoever falls behind what is kept gets a
/// snapshot instead, so a slow reader costs no more than a fast one.
class event_feed {
 public:
  /// Changes that are kept for those who are behind.
  static constexpr std::size_t most_changes = 16;
  /// Of all of them together, in bytes. A larger change is not kept: all readers get the snapshot, which is
  /// one text for them all.
  static constexpr std::size_t most_bytes = 1 << 20;

  /// The event that has all locks.
  struct snapshot {
    std::uint64_t revision;
    text_parts text;
  };

  /// \param revision one more than that of the change before, or a gap: then nobody gets the changes before.
  /// \param text null: too large to be kept.
  void add_change(std::uint64_t revision, shared_text text);
  void set_status(shared_text text);
  /// What is to be sent next; empty: nothing for now. \param last_snapshot may be older than the last change:
  /// then it is for those alone who have seen nothing as new.
  [[nodiscard]] text_parts next(event_cursor& reader, const std::function<snapshot()>& last_snapshot) const;

 private:
  [[nodiscard]] shared_text next_change(event_cursor& reader) const;

  struct change {
    std::uint64_t revision;
    shared_text text;
  };
  std::deque<change> changes_;
  std::size_t bytes_ = 0;
  std::uint64_t revision_ = 0;
  std::uint64_t status_number_ = 0;
  shared_text status_;
};

}  // namespace holdfast::cli
