#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "stores/zookeeper/protocol/layout.hpp"

namespace holdfast::zookeeper {

/// Who may be in one queue, as far as one client knows: what it read once, less those whose end it has
/// noticed or can conclude. Whoever is ahead of a contender can only become fewer, so a list once read serves
/// all that come after, and nobody lists again at every hand-over.
///
/// It may name some that have gone; it never lacks one that is there and ahead of a contender of ours.
class contender_queue {
 public:
  explicit contender_queue(layout style) : style_{style} {}

  /// The children of the lock's node, all of them, as they were just now.
  /// \return a contender of the other layout among them.
  std::optional<std::string> read(const std::vector<std::string>& children);
  /// A node is gone.
  void gone(std::string_view node);
  /// A contender holds: nobody that it would have had to wait for is ahead of it any more.
  void holds(const contender& c);

  /// How many may be ahead of one that it has to wait for.
  struct ahead {
    std::size_t count = 0;             // counted up to `enough`
    std::vector<std::string> nearest;  // their nodes, the last of them first, up to `enough`
  };
  [[nodiscard]] ahead before(const contender& c, std::size_t enough) const;

  /// Whether who came first cannot be told, for `c` and another have numbers of the end (see
  /// is_of_the_end). Whoever sees nobody else of the end when it comes, came first: all others see that one.
  [[nodiscard]] bool cannot_order(const contender& c) const;

  /// A writer that went may have become a reader under its own number, whose node was not there when this was
  /// read. Whoever waits for readers, too, has to read anew.
  [[nodiscard]] bool may_lack_readers() const { return may_lack_readers_; }

  /// Likewise, where the writer was made by this library, which gives the reader's node the writer's guid:
  /// the only nodes that may be lacking, of those that `c` has to wait for. Whoever is sent to look reports
  /// `came` or `did_not_come`.
  [[nodiscard]] std::vector<std::string> possible_readers(const contender& c) const;
  [[nodiscard]] bool is_possible_reader(const std::string& node) const {
    return possible_readers_.contains(node);
  }
  void came(const std::string& node);
  void did_not_come(const std::string& node) { possible_readers_.erase(node); }

 private:
  struct place {
    std::int32_t number;
    std::string_view node;  // the key in `known_`
  };
  struct earlier {
    bool operator()(const place& one, const place& other) const {
      return one.number != other.number ? is_before(one.number, other.number) : one.node < other.node;
    }
  };
  using queue = std::map<place, role, earlier>;
  struct known {
    std::int32_t number;
    role wants;
    std::uint64_t read;  // in which reading it was last seen
  };
  struct hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  // A list of thousands is read at every coming, and nearly all of it is known: that is looked up, no more.
  using nodes = std::unordered_map<std::string, known, hash, std::equal_to<>>;

  [[nodiscard]] const queue& waited_for_by(role wants) const {
    return wants == role::reader ? writers_ : all_;
  }
  void add(const contender& c);
  nodes::iterator remove(nodes::iterator entry);

  layout style_;
  nodes known_;
  queue all_;
  queue writers_;  // of them, those that exclude readers
  std::uint64_t reading_ = 0;
  bool may_lack_readers_ = false;
  std::map<std::string, std::int32_t> possible_readers_;
};

}  // namespace holdfast::zookeeper
