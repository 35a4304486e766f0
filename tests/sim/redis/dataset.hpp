#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::sim {

/// Fields and values in the order they came in, as Redis keeps a small hash. Searched from the front: the
/// model is made for hashes of dozens of fields.
struct hash_value {
  std::vector<std::pair<std::string, std::string>> fields;
};
/// By score, then by member.
struct sorted_set_value {
  struct scored {
    double score;
    std::string member;
  };
  std::vector<scored> members;
};
struct list_value {
  std::deque<std::string> items;
};
struct set_value {
  std::vector<std::string> members;
};
using content = std::variant<std::string, hash_value, sorted_set_value, list_value, set_value>;

/// What the server keeps: keys, what is under them, and until when. A copy of it is a backup.
///
/// Every change goes through the functions below, which note how to take it back, so that the last write
/// commands can be lost (a replica that lagged, a log that was not yet on disk) without a copy at each of
/// them.
class dataset {
 public:
  /// The last millisecond that there is: the server tells it from "never", the model does not.
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
  static constexpr std::size_t at_end = std::numeric_limits<std::size_t>::max();

  struct entry {
    content what;
    std::int64_t expires_ms = never;
  };
  struct text_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };
  using slots = std::unordered_map<std::string, entry, text_hash, std::equal_to<>>;
  using slot = slots::value_type;

  /// \param writes_kept how many of the last write commands can be lost.
  explicit dataset(std::size_t writes_kept = 64) : writes_kept_{writes_kept} {}

  /// Between two of these, all changes are one command's: lost together. What has expired by `now_ms` is not
  /// there any more.
  void begin_command(std::int64_t now_ms) {
    now_ms_ = now_ms;
    changed_ = false;
  }
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

  slot& put(std::string_view key, content what, std::int64_t expires_ms = never);
  void erase(slot& s);
  void clear();
  void set_expiry(slot& s, std::int64_t expires_ms);
  /// Of a string: in its place.
  void set_text(slot& s, std::string_view text);
  /// For small matters: a copy of the old is kept.
  [[nodiscard]] content& rewrite(slot& s);
  /// \param index of the field, or `at_end` for a new one.
  void put_field(slot& s, std::size_t index, std::string_view field, std::string_view value);
  void erase_field(slot& s, std::size_t index);
  void insert_member(slot& s, double score, std::string_view member);
  void erase_member(slot& s, std::size_t index);
  /// Redis keeps nothing empty. To be called after erasing parts. \return whether the key is gone.
  bool drop_if_empty(slot& s);

  /// Takes back the last write commands, as many as are kept at most. \return how many
  std::size_t lose_last_writes(std::size_t count);
  [[nodiscard]] std::size_t writes_that_can_be_lost() const noexcept;
  /// As after a restart: what is there now is safe.
  void forget_history() { history_.clear(); }

  /// The names of all keys that were changed since this was asked last.
  [[nodiscard]] std::vector<std::string> take_touched();

 private:
  // What was there before a change. Indexes are right, as changes are taken back in reverse.
  struct nothing {};
  struct former_expiry {
    std::int64_t expires_ms;
  };
  struct former_text {
    std::string text;
  };
  struct new_field {};
  struct former_value {
    std::size_t index;
    std::string value;
  };
  struct former_field {
    std::size_t index;
    std::pair<std::string, std::string> field;
  };
  struct new_member {
    std::size_t index;
  };
  struct former_member {
    std::size_t index;
    sorted_set_value::scored member;
  };
  using former = std::variant<nothing, entry, former_expiry, former_text, new_field, former_value,
                              former_field, new_member, former_member>;
  struct change {
    std::uint64_t write;
    std::string key;
    former before;
  };

  template <class Former>
  void note(const std::string& key, Former&& before);
  void take_back(change& c);

  slots slots_;
  std::int64_t now_ms_ = 0;
  bool changed_ = false;      // by this command
  std::uint64_t writes_ = 0;  // commands that changed something
  std::size_t writes_kept_;
  std::deque<change> history_;
  std::unordered_set<std::string> touched_;
};

}  // namespace holdfast::sim
