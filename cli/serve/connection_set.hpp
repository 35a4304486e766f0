#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <holdfast/boot_clock.hpp>

namespace holdfast::cli {

/// One client's connection, on the thread of the service.
class connection {
 public:
  virtual ~connection() = default;
  connection() = default;
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  /// Ends it now.
  virtual void close() = 0;
  /// Sends the events that have come, if it is a stream that waits for some.
  virtual void wake() = 0;
  /// Since when it waits for its client: for the handshake, for a whole request, or for the end; empty: a
  /// request is being served.
  [[nodiscard]] virtual std::optional<boot_clock::time_point> idle_since() const = 0;
  [[nodiscard]] virtual bool is_stream() const = 0;
};

/// All of them, in a bounded number.
class connection_set {
 public:
  static constexpr std::size_t most = 64;
  static constexpr std::size_t most_streams = 32;

  /// Makes room for one more, by ending the one that has waited for its client for the longest.
  /// \return whether there is room.
  [[nodiscard]] bool make_room();
  void add(std::shared_ptr<connection> one) { all_.insert(std::move(one)); }
  void remove(const std::shared_ptr<connection>& one) { all_.erase(one); }
  [[nodiscard]] bool has_room_for_stream() const;
  void wake_streams();
  void close_all();

 private:
  std::set<std::shared_ptr<connection>> all_;
};

}  // namespace holdfast::cli
