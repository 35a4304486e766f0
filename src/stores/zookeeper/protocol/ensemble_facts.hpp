#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/diagnosis.hpp"

namespace holdfast::zookeeper {

/// What the servers of a URL have said of themselves.
struct ensemble_facts {
  using fields = std::map<std::string, std::string, std::less<>>;

  struct server {
    std::string place;
    std::string problem;  // why it does not answer; empty: it does
    fields srvr;          // its answers; empty: it may not be asked, or does not serve
    fields conf;
    fields mntr;
    bool is_serving = true;  // false: it knows no leader

    [[nodiscard]] std::string mode() const;
    [[nodiscard]] bool stands_alone() const;
    /// Of at most 10^15, so that its multiples are numbers too.
    [[nodiscard]] std::optional<std::int64_t> number(const fields& in, std::string_view name) const;
  };
  std::vector<server> servers;

  struct permission {
    int may = 0;  // of the bits below
    std::string scheme;
    std::string id;
  };
  static constexpr int may_read = 1;
  static constexpr int may_create = 4;
  static constexpr int may_delete = 8;

  /// What a session has seen. None: there was no session.
  struct session {
    std::chrono::milliseconds timeout{};         // that the servers granted
    std::string members;                         // the data of /zookeeper/config
    std::string root;                            // the root, or the nearest node above it that is there
    bool has_root = true;                        // whether that is the root itself
    std::optional<std::vector<permission>> acl;  // of `root`; none: it may not be read
    std::string acl_problem;                     // why it is not known; empty: it may not be read
    std::string largest_list;                    // the node with the most bytes in its children's names
    std::uint64_t largest_list_bytes = 0;
    std::size_t lists = 0;  // of nodes that were read
    bool has_more = false;  // there are more: the number of them that are read is bounded
    std::string unseen;     // why one of them was not read; empty: it was
  };
  std::optional<session> seen;
  std::string session_problem;

  // What the URL has:
  std::int64_t buffer_bytes = 0xfffff;  // jute.maxbuffer
  std::chrono::milliseconds requested{};
  std::string user;             // of auth; empty: none
  bool asks_for_world = false;  // acl=world
  bool makes_world = true;      // new nodes are everybody's
  bool is_local = false;        // no other host reaches the servers by these addresses
};

/// The lines of an answer: "Mode: leader", "tickTime=2000" or "zk_uptime\t17".
[[nodiscard]] ensemble_facts::fields fields_in(std::string_view answer, std::string_view separator);

/// Holds them to the conditions of docs/stores/zookeeper.md.
[[nodiscard]] std::vector<finding> findings_of(const ensemble_facts& facts);

}  // namespace holdfast::zookeeper
