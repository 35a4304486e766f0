// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "holdfast/export.hpp"
#include "holdfast/state.hpp"

namespace holdfast {

/// One name of a `lock_set`, and how it is to be held. A text alone means exclusively.
class HOLDFAST_EXPORT lock_spec {
 public:
  /// Exclusively, as `mutex`.
  lock_spec(std::string name) : name_{std::move(name)} {}  // NOLINT(google-explicit-constructor)
  lock_spec(std::string_view name) : name_{name} {}        // NOLINT(google-explicit-constructor)
  lock_spec(const char* name) : name_{name} {}             // NOLINT(google-explicit-constructor)
  /// Shared with other readers, as `shared_mutex::lock_shared`.
  [[nodiscard]] static lock_spec shared(std::string_view name) {
    lock_spec spec{name};
    spec.mode_ = mode::shared;
    spec.is_shareable_ = true;
    return spec;
  }
  /// Exclusively, as `shared_mutex::lock`. Only on ZooKeeper is that more than a text alone: there readers
  /// and writers of other libraries (Curator's InterProcessReadWriteLock) respect it, and it respects them.
  [[nodiscard]] static lock_spec writer(std::string_view name) {
    lock_spec spec{name};
    spec.is_shareable_ = true;
    return spec;
  }
  /// \param capacity of the semaphore, as of `counting_semaphore`.
  /// \param count permits to take: 1 to `capacity`.
  [[nodiscard]] static lock_spec permits(std::string_view name, std::int64_t capacity,
                                         std::int64_t count = 1) {
    lock_spec spec{name};
    spec.mode_ = mode::permits;
    spec.capacity_ = capacity;
    spec.count_ = count;
    return spec;
  }

  /// What is to be locked.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// How it is to be held.
  [[nodiscard]] holdfast::mode mode() const noexcept { return mode_; }
  /// Whether it is the name of a `shared_mutex`: made by `shared` or `writer`.
  [[nodiscard]] bool is_shareable() const noexcept { return is_shareable_; }
  /// Permits to take; 1 for the other modes.
  [[nodiscard]] std::int64_t count() const noexcept { return count_; }
  /// Of the semaphore; 0 for the other modes.
  [[nodiscard]] std::int64_t capacity() const noexcept { return capacity_; }

 private:
  std::string name_;
  holdfast::mode mode_ = mode::exclusive;
  bool is_shareable_ = false;
  std::int64_t count_ = 1;
  std::int64_t capacity_ = 0;
};

}  // namespace holdfast
