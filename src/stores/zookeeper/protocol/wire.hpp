// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/failure.hpp"
#include "core/machine.hpp"
#include "holdfast/error.hpp"
#include "holdfast/fencing_token.hpp"

namespace holdfast::zookeeper {

enum class operation_kind : std::uint8_t {
  create,   // path data make -> path (with its number, if it has one), about
  get,      // path watch -> data, about
  list,     // path watch -> children, about
  set,      // path data
  remove,   // path
  replace,  // path data former: creates an ephemeral node and removes another, both or neither
  sync,     // answered by the leader: an answer shows that the leader has seen the session lately
  unwatch,  // path of a get (or of a list: `children`) whose watch is not needed any more
  exists,   // path watch -> about, as get without the data; needs no permission. The watch of a node that
            // does not exist waits for its creation
  agree     // path of an existing node: a vote without a change. A read after its answer sees everything that
            // was acknowledged before the vote was sent. A sync does not ensure that if the leader itself
            // answers the read
};

/// One atomic step at the servers. Steps are carried out and answered in the order of sending. The event of a
/// watched node is delivered before any answer that includes the change. Both are guarantees of ZooKeeper's
/// protocol, on which the recipes rely.
struct operation {
  enum class made : std::uint8_t {
    container,  // the servers remove it some time after its last child
    ephemeral,  // removed with the session
    sequential  // ephemeral, with a number from its parent's counter appended to its name
  };

  operation_kind kind{};
  std::string path;
  std::string data{};
  std::string former{};  // replace: the node that is removed
  made make{};
  bool watch =
      false;  // notify once when the node changes or is removed; for a list: when a child comes or goes
  bool children = false;  // unwatch: the watch of a list
  std::uint64_t request =
      0;  // that it is sent for: see tickets::link::on_reply; zero: the one that is sent now
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

/// The metadata of a node.
struct status {
  std::int64_t created = 0;     // czxid
  std::int64_t last_child = 0;  // pzxid: the last coming or going of a child
  std::int64_t session = 0;     // the owner of an ephemeral node; zero for others
  std::int64_t created_ms = 0;  // by the leader's wall clock
  std::int32_t child_count = 0;
};

struct result {
  answer code{};
  std::string path{};
  std::string data{};
  std::vector<std::string> children{};
  status about{};
  failure reason{};  // if it failed: the message for people
};
/// A watch concerns a node (its data and its end), or the names of its children.
enum class watch_kind : std::uint8_t { node, children };

/// What happened to a node that was watched.
enum class change : std::uint8_t { created, removed, data, children };

/// The connection broke, or there was none. The session and its watches may still exist.
[[nodiscard]] inline bool is_unanswered(const result& r) {
  return r.code == answer::unknown || r.code == answer::not_sent;
}

/// Whether a server may have created a node with this path: the requested one, with a number behind it where
/// the node is sequential.
[[nodiscard]] bool may_create(const operation& creation, std::string_view path);

/// Neither a result nor the answer that there is no node.
[[nodiscard]] inline bool is_error(const result& r) {
  return r.code != answer::done && r.code != answer::no_node;
}

/// Whether `agree` has succeeded: a majority of the servers has voted after the request was sent, so a later
/// read is at least as new. The servers vote on a refusal, too.
[[nodiscard]] inline bool is_agreed(const result& r) { return !is_error(r) || r.code == answer::refused; }

/// The failure for the machines of the core.
[[nodiscard]] store::request_error request_error_of(const result& r);

/// The failure of a session that ended, with all its nodes, before the claim was answered.
/// \param maybe_executed the claim may have been made.
[[nodiscard]] inline store::request_error session_ended(bool maybe_executed) {
  return {{errc::unavailable, "the session ended"}, true, maybe_executed};
}

/// The token of a claim with this node.
[[nodiscard]] inline fencing_token token_of(const status& node) {
  return fencing_token{static_cast<std::uint64_t>(node.created)};
}

/// The connection to the servers. All calls and all answers happen under the client's core lock.
class wire {
 public:
  using on_result = std::function<void(result)>;

  wire() = default;
  wire(const wire&) = delete;
  wire& operator=(const wire&) = delete;
  virtual ~wire() = default;

  /// Never answers within the call; answers always, and in order. The step is carried out in the current
  /// session, or in the next one if there is none yet, and in no other.
  virtual void submit(operation step, on_result done) = 0;
};

}  // namespace holdfast::zookeeper
