// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "base/failure.hpp"
#include "base/numbered.hpp"

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
  void add(op_id id, std::shared_ptr<operation> started) { all_.add(id, std::move(started)); }
  /// An operation has ended. \return it; null: it was cancelled, and is not among them any more.
  std::shared_ptr<operation> remove(op_id id) { return all_.take_out(id); }

  /// Has no effect on an operation that has ended.
  void cancel(op_id id, failure reason) {
    if (const auto ended = all_.take_out(id)) ended->cancel(std::move(reason));
  }
  /// Closes all of them, the oldest first: an operation that consists of others is older than they are.
  void close(const failure& reason) {
    op_id id = 0;
    for (auto next = all_.first_from(id); next != all_.end(); next = all_.first_from(id + 1)) {
      id = next->number;
      // It removes itself if that ends it.
      if (const auto closed = next->value) closed->close(reason);
    }
  }

 private:
  op_id last_ = 0;
  numbered<std::shared_ptr<operation>> all_;
};

}  // namespace holdfast::lease_core
