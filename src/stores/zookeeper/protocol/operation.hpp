#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/failure.hpp"
#include "core/machine.hpp"

namespace holdfast::zookeeper {

enum class operation_kind : std::uint8_t {
  create,   // path data make -> path (with its number, if it has one), about
  get,      // path watch -> data, about
  list,     // path watch -> children, about
  set,      // path data
  remove,   // path
  replace,  // path data former: creates an ephemeral node and removes another, both or neither
  sync,     // answered by the leader: whoever hears the answer, the leader has heard of lately
  unwatch,  // path of a get (or of a list: `children`) whose watch is not wanted any more
  exists,   // path -> about, as get without the data: needs no right
  agree     // path of a node that is there: voted on, and changes nothing. Who reads after the answer reads
            // whatever anybody was told before the question; after a sync, not if the leader itself answers
};

/// One step at the servers, which nobody comes between. Steps are carried out and answered in the order of
/// sending, and the event of a watched node is delivered before any answer that already knows of it: the
/// guarantees of ZooKeeper's own protocol, on which everything above relies.
struct operation {
  enum class made : std::uint8_t {
    container,  // goes away by itself some time after the last child
    ephemeral,  // goes away with the session
    sequential  // ephemeral, with a number put behind its name that its parent counts
  };

  operation_kind kind{};
  std::string path;
  std::string data{};
  std::string former{};  // replace: the node that goes
  made make{};
  bool watch = false;     // tell once when it changes or goes; for a list: when a child comes or goes
  bool children = false;  // unwatch: the watch of a list
};

/// How an operation ended.
enum class answer : std::uint8_t {
  done,
  no_node,
  node_exists,
  no_children,  // the parent is ephemeral
  not_empty,
  refused,     // by an ACL
  over_quota,  // or too large
  unknown,     // the connection broke: it may have been carried out
  not_sent,    // there is no connection
  other
};

/// What a node says of itself.
struct status {
  std::int64_t created = 0;     // czxid
  std::int64_t last_child = 0;  // pzxid: the last coming or going of a child
  std::int64_t session = 0;     // of an ephemeral node: whose end is its end
  std::int64_t created_ms = 0;  // by the server's wall clock
};

struct result {
  answer code{};
  std::string path{};
  std::string data{};
  std::vector<std::string> children{};
  status about{};
  failure reason{};  // where it is not done: what a person should know
};
using on_result = std::function<void(result)>;

/// A watch is of a node, its data and its end, or of the names of its children.
enum class watch_kind : std::uint8_t { node, children };

/// What happened to a node that was watched.
enum class change : std::uint8_t { removed, data, children };

/// The connection broke, or there was none: the session and its watches may be there still.
[[nodiscard]] inline bool is_unanswered(const result& r) {
  return r.code == answer::unknown || r.code == answer::not_sent;
}

/// Not an answer, not even that nothing is there.
[[nodiscard]] inline bool is_trouble(const result& r) {
  return r.code != answer::done && r.code != answer::no_node;
}

/// Of `agree`: a majority of the servers has voted on what was sent before, so that what is read next is no
/// older. A refusal is voted on, too.
[[nodiscard]] inline bool is_agreed(const result& r) { return !is_trouble(r) || r.code == answer::refused; }

/// As the machines of the core take it.
[[nodiscard]] store::trouble trouble_of(const result& r);

}  // namespace holdfast::zookeeper
