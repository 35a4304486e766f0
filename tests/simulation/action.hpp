// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace holdfast::sim {

/// What is to be done at an event: a callable in a place of fixed size, since a world has thousands of events
/// and an allocation for each would be most of its cost.
class action {
 public:
  static constexpr std::size_t room = 96;

  action() = default;
  template <class Function>
    requires(!std::is_same_v<std::remove_cvref_t<Function>, action>)
  action(Function&& f) {  // NOLINT(google-explicit-constructor): as std::function
    using stored = std::remove_cvref_t<Function>;
    static_assert(sizeof(stored) <= room && std::is_nothrow_move_constructible_v<stored>);
    ::new (static_cast<void*>(place_)) stored(std::forward<Function>(f));
    table_ = &table_of<stored>;
  }
  action(action&& other) noexcept : table_{std::exchange(other.table_, nullptr)} {
    if (table_ != nullptr) table_->move(other.place_, place_);
  }
  action& operator=(action&& other) noexcept {
    if (this == &other) return *this;
    reset();
    table_ = std::exchange(other.table_, nullptr);
    if (table_ != nullptr) table_->move(other.place_, place_);
    return *this;
  }
  ~action() { reset(); }

  void operator()() { table_->call(place_); }
  [[nodiscard]] explicit operator bool() const { return table_ != nullptr; }

 private:
  struct functions {
    void (*call)(void*);
    void (*move)(void* from, void* to);  // leaves nothing to destroy
    void (*destroy)(void*);
  };
  template <class Stored>
  static constexpr functions table_of{[](void* p) { (*static_cast<Stored*>(p))(); },
                                      [](void* from, void* to) {
                                        auto* const old = static_cast<Stored*>(from);
                                        ::new (to) Stored(std::move(*old));
                                        old->~Stored();
                                      },
                                      [](void* p) { static_cast<Stored*>(p)->~Stored(); }};

  void reset() {
    if (table_ != nullptr) std::exchange(table_, nullptr)->destroy(place_);
  }

  const functions* table_ = nullptr;
  alignas(std::max_align_t) std::byte place_[room];
};

}  // namespace holdfast::sim
