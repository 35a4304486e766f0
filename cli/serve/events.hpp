#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

namespace holdfast::cli {

/// One event of a stream, as it is sent (server-sent events, WHATWG HTML section 9.2).
/// \param data one line.
[[nodiscard]] std::string event_text(std::string_view kind, std::string_view data);

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
  static constexpr std::size_t most_bytes = 1 << 20;

  /// \param revision one more than that of the change before, or a gap: then nobody gets the changes before.
  void add_change(std::uint64_t revision, std::string text);
  void set_status(std::string text);
  /// What is to be sent next; null: nothing. \param snapshot makes the event of the last revision.
  [[nodiscard]] std::shared_ptr<const std::string> next(
      event_cursor& reader, const std::function<std::shared_ptr<const std::string>()>& snapshot) const;

 private:
  [[nodiscard]] std::shared_ptr<const std::string> next_change(event_cursor& reader) const;

  struct change {
    std::uint64_t revision;
    std::shared_ptr<const std::string> text;
  };
  std::deque<change> changes_;
  std::size_t bytes_ = 0;
  std::uint64_t revision_ = 0;
  std::uint64_t status_number_ = 0;
  std::shared_ptr<const std::string> status_;
};

}  // namespace holdfast::cli
