// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

namespace holdfast::sim {

/// By score, then by member.
struct sorted_set_value {
  struct scored {
    double score;
    std::string member;
  };
  std::vector<scored> members;
};
using content = std::variant<std::string, sorted_set_value>;

/// What the server keeps: keys, what is under them, and until when. A copy of it is a backup.
///
/// Every change goes through the functions below, which note whose it was.
class dataset {
 public:
  /// The last millisecond that there is: the server tells it from "never", the model does not.
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
  static constexpr std::size_t at_end = std::numeric_limits<std::size_t>::max();

  struct entry {
    content value;
    std::int64_t expires_ms = never;
    bool noted = false;  // among those that were changed
  };
  /// Keys of one lock begin alike, and so do those of all locks: what tells them apart is their length and
  /// their end.
  struct text_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      std::uint64_t hash = text.size();
      for (std::size_t end = text.size(), words = 0; end >= sizeof hash && words < 3; ++words) {
        end -= sizeof hash;
        std::uint64_t word = 0;
        std::memcpy(&word, text.data() + end, sizeof word);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15U;
        hash ^= hash >> 32U;
      }
      for (std::size_t i = text.size() % sizeof hash; i-- > 0;) {
        hash = (hash ^ static_cast<unsigned char>(text[i])) * 0x100000001B3U;
      }
      return hash;
    }
  };
  using slots = std::unordered_map<std::string, entry, text_hash, std::equal_to<>>;
  using slot = slots::value_type;

  /// What has expired by then is not there any more.
  void begin_command(std::int64_t now_ms) { now_ms_ = now_ms; }
  [[nodiscard]] std::int64_t now_ms() const noexcept { return now_ms_; }

  /// \return null if there is none. Valid until the key is erased.
  [[nodiscard]] slot* find(std::string_view key);
  [[nodiscard]] const slot* find(std::string_view key) const;
  /// All that have not expired, in no order that means anything.
  template <class Visitor>
  void each(Visitor&& visit) const {
    for (const slot& s : slots_) {
      if (s.second.expires_ms >= now_ms_) visit(s);
    }
  }

  slot& put(std::string_view key, content value, std::int64_t expires_ms = never);
  void erase(slot& s);
  void clear();
  void set_expiry(slot& s, std::int64_t expires_ms);
  void insert_member(slot& s, double score, std::string_view member);
  void erase_member(slot& s, std::size_t index);

  /// What is there now is lost, and a backup is put in its place.
  void restore(dataset backup);

  /// How many changes there have been.
  [[nodiscard]] std::uint64_t changes() const noexcept { return changes_; }
  /// The names of all keys that were changed since this was asked last.
  [[nodiscard]] std::vector<std::string> take_touched();

 private:
  void note(slot& s);

  slots slots_;
  std::int64_t now_ms_ = 0;
  std::uint64_t changes_ = 0;
  std::unordered_set<std::string> touched_;
};

}  // namespace holdfast::sim
