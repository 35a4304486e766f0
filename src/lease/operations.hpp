// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/failure.hpp"

namespace holdfast::lease_core {

/// The number of an operation; zero: of none.
using op_id = std::uint64_t;

/// Something that a user has started and waits for. Its end is told once, by itself or by `cancel`.
class operation {
 public:
  operation() = default;
  operation(const operation&) = delete;
  operation& operator=(const operation&) = delete;
  virtual ~operation() = default;

  /// The user waits no longer: ends with that failure. What it may have left at the store is withdrawn in the
  /// background.
  virtual void cancel(failure reason) = 0;
  /// The client is being closed: ends now, or soon by itself.
  virtual void close(failure reason) { cancel(std::move(reason)); }
};

/// The operations of one client that are under way. Called under the core lock.
class operations {
 public:
  [[nodiscard]] op_id next_id() { return ++last_; }
  void add(op_id id, std::shared_ptr<operation> started) { all_.insert(from(id), {id, std::move(started)}); }
  /// An operation has ended. One that is cancelled is not among them any more.
  void remove(op_id id) { static_cast<void>(take_out(id)); }

  /// Has no effect on an operation that has ended.
  void cancel(op_id id, failure reason) {
    if (const auto ended = take_out(id)) ended->cancel(std::move(reason));
  }
  /// Closes all of them, the oldest first: an operation that consists of others is older than they are.
  void close(const failure& reason) {
    op_id id = 0;
    for (auto next = from(id); next != all_.end(); next = from(id + 1)) {
      id = next->id;
      // It removes itself if that ends it.
      if (const auto closed = next->which) closed->close(reason);
    }
  }

 private:
  struct entry {
    op_id id;
    std::shared_ptr<operation> which;  // null: it has ended
  };

  [[nodiscard]] std::vector<entry>::iterator from(op_id id) {
    return std::partition_point(all_.begin(), all_.end(), [id](const entry& each) { return each.id < id; });
  }
  [[nodiscard]] std::shared_ptr<operation> take_out(op_id id) {
    const auto found = from(id);
    if (found == all_.end() || found->id != id || !found->which) return nullptr;
    auto taken = std::move(found->which);
    // The entries that have ended go together: taking out one of many costs little.
    if (++ended_ > all_.size() / 2) {
      std::erase_if(all_, [](const entry& each) { return !each.which; });
      ended_ = 0;
    }
    return taken;
  }

  op_id last_ = 0;
  std::vector<entry> all_;  // by their numbers
  std::size_t ended_ = 0;   // of them
};

}  // namespace holdfast::lease_core
