#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "stores/zookeeper/protocol/layout.hpp"

namespace holdfast::zookeeper {

/// The contenders of one queue, as one client knows them: those that it has read, less those whose end it has
/// noticed or can conclude. The contenders ahead of another can only become fewer, so one listing serves all
/// later claims of the client, and no hand-over needs a new one.
///
/// It may contain contenders that have gone. It never lacks one that is ahead of a claim of this client.
class contender_queue {
 public:
  explicit contender_queue(layout style) : style_{style} {}

  /// Takes all children of the lock's node, which were read just now.
  /// \return a contender of the other layout among them.
  std::optional<std::string> read(const std::vector<std::string>& children);
  /// Called when a node is gone.
  void gone(std::string_view node);
  /// Called when a contender holds: no conflicting contender is ahead of it any more.
  void holds(const contender& c);

  /// The contenders ahead of a claim for which it has to wait.
  struct ahead {
    std::size_t count = 0;             // counted up to `enough`
    std::vector<std::string> nearest;  // their nodes, the last of them first, up to `enough`
  };
  [[nodiscard]] ahead before(const contender& c, std::size_t enough) const;

  /// Whether the order is unknown, because `c` and another contender have numbers from the end of the counter
  /// (see is_of_the_end). A contender that sees no other such number when it arrives came first: all others
  /// see its node.
  [[nodiscard]] bool cannot_order(const contender& c) const;

  /// Whether readers may be missing: a writer that has gone may have become a reader with its own number,
  /// after the last read. A claim that also waits for readers has to read again.
  [[nodiscard]] bool may_lack_readers() const { return may_lack_readers_; }

  /// The nodes of such readers, for writers of this library, which gives the reader's node the writer's guid.
  /// `c` has to wait for them, and no other nodes may be missing. After a read of one, report `came` or
  /// `did_not_come`.
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
  using queue = std::set<place, earlier>;
  struct known {
    std::int32_t number;
    role wants;
    std::uint64_t read;  // the number of the read that saw it last
  };
  struct hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  // Each arrival reads a list of possibly thousands. Nearly all of it is known, and costs a look-up only.
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
