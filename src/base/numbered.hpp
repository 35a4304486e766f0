// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace holdfast {

/// Values by their numbers. Most of them are added with the largest number so far, and are taken out soon.
/// Neither allocates then, other than in a map.
template <class Value>
class numbered {
 public:
  struct entry {
    std::uint64_t number;
    Value value;  // empty: it has been taken out
  };

  /// \pre no value has had the number before.
  void add(std::uint64_t number, Value&& value) {
    all_.emplace(first_from(number), number, std::move(value));
  }
  /// \return an empty one if it is not there (any more).
  [[nodiscard]] Value take_out(std::uint64_t number) {
    const auto found = first_from(number);
    if (found == all_.end() || found->number != number || !found->value) return {};
    Value taken = std::exchange(found->value, {});
    ++empty_;
    for (; !all_.empty() && !all_.back().value; --empty_) all_.pop_back();
    // The empty entries between others go together: taking out one of many costs little.
    if (empty_ > all_.size() / 2) {
      std::erase_if(all_, [](const entry& each) { return !each.value; });
      empty_ = 0;
    }
    return taken;
  }
  [[nodiscard]] bool contains(std::uint64_t number) {
    const auto found = first_from(number);
    return found != all_.end() && found->number == number && found->value;
  }
  /// How many values there are.
  [[nodiscard]] std::size_t size() const { return all_.size() - empty_; }

  /// The first entry with that number or a larger one; `end` if there is none.
  [[nodiscard]] typename std::vector<entry>::iterator first_from(std::uint64_t number) {
    return std::partition_point(all_.begin(), all_.end(),
                                [number](const entry& each) { return each.number < number; });
  }
  [[nodiscard]] typename std::vector<entry>::iterator end() { return all_.end(); }

 private:
  std::vector<entry> all_;
  std::size_t empty_ = 0;  // of them
};

}  // namespace holdfast
