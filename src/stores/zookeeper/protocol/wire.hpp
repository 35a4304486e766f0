#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/failure.hpp"

namespace holdfast::zookeeper {

/// What a server is asked, each one step that nobody comes between. They are carried out and answered in the
/// order of sending, and what happens to a watched node is told before any answer that already knows of it:
/// the guarantees of ZooKeeper's own protocol, on which everything above relies.
struct operation {
  enum class kind : std::uint8_t {
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
  enum class made : std::uint8_t {
    container,  // goes away by itself some time after the last child
    ephemeral,  // goes away with the session
    sequential  // ephemeral, with a number put behind its name that its parent counts
  };

  kind what{};
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
  answer how{};
  std::string path{};
  std::string data{};
  std::vector<std::string> children{};
  status about{};
  failure why{};  // where it is not done: what a person should know
};

/// What happened to a node that was watched.
enum class change : std::uint8_t { removed, data, children };

/// The way to the servers. All calls are made, and all answers given, under the client's core lock.
class wire {
 public:
  using on_result = std::function<void(result)>;

  wire() = default;
  wire(const wire&) = delete;
  wire& operator=(const wire&) = delete;
  virtual ~wire() = default;

  /// Never answers within the call; answers always, and in order. Carried out in the session that there is
  /// now, or the next if there is none yet, and in no other.
  virtual void submit(operation what, on_result done) = 0;
};

}  // namespace holdfast::zookeeper
