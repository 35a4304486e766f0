#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/diagnosis.hpp"
#include "stores/redis/protocol/dialect.hpp"
#include "stores/redis/protocol/key_sample.hpp"
#include "stores/redis/protocol/value.hpp"

namespace holdfast::redis {

/// A command that a user needs, in a form that changes nothing at the server.
struct right {
  std::vector<std::string> probe;
  std::string grant;        // as ACL SETUSER takes it: "+client|kill"
  std::string consequence;  // of its absence; empty: locks do not work without it
};

/// The rights that a user of these settings needs. \param probe a name that is no lock's.
[[nodiscard]] std::vector<right> needed_rights(const dialect& in, std::string_view probe, bool has_database);

/// What a server has said of itself.
struct server_facts {
  using fields = std::map<std::string, std::string, std::less<>>;

  std::string place;
  std::string user;
  fields info;                // INFO
  std::string info_error;     // where it does not answer that
  fields settings;            // CONFIG GET; empty: this user may not
  bool has_failover = false;  // Sentinels or a cluster may promote another one
  bool is_local = false;      // the address leads to no other host
  /// Whether it takes commands of whoever gives no password; empty: not known.
  std::optional<bool> is_open;
  bool gives_password = false;  // the client, as the user "default", whose password `is_open` is about
  std::optional<std::chrono::microseconds> clock_ahead;  // of this host's
  std::optional<std::chrono::microseconds> script_time;  // the median of a script's round trips
  std::string guard_marker;  // see lua/guard.lua; empty: there is none, or it was not asked for
  bool has_guard = false;    // of its own: it is no node of a cluster, and no one of several servers
  std::optional<value> set;  // the reply to GET of quorum_key, of one of several servers; empty: not asked
  std::optional<fields> cluster;        // CLUSTER INFO, of a node of a cluster; empty: not asked
  std::string cluster_error;            // where it does not answer that
  std::optional<key_sample> side_keys;  // empty: not asked
  std::string obstacle;                 // an error with which it refuses everybody for now; empty: none

  struct denial {
    right missing;
    std::string error;  // of the server
  };
  std::vector<denial> denials;

  /// Empty: it did not say so.
  [[nodiscard]] std::string_view field(std::string_view name) const;
  [[nodiscard]] std::string_view setting(std::string_view name) const;
  [[nodiscard]] std::string_view state(std::string_view name) const;  // of the cluster
  /// Zero where it is not there; never so large that it overflows as another unit.
  [[nodiscard]] std::int64_t number(std::string_view info_field) const;
  [[nodiscard]] std::int64_t number_set(std::string_view setting_name) const;
  [[nodiscard]] std::int64_t state_number(std::string_view name) const;
};

/// The longest guard that clients ask for, by a server's marker; zero: it says none.
[[nodiscard]] std::chrono::milliseconds longest_guard(const server_facts& of);

/// How long a server still grants nothing new, by its marker or by its start; zero: it grants. An estimate:
/// the script that decides (lua/guard.lua) writes, and is not called.
[[nodiscard]] std::chrono::milliseconds pause_left(const server_facts& of, std::chrono::milliseconds guard,
                                                   std::chrono::milliseconds now);

/// Whether an error says that this user may not do that.
[[nodiscard]] bool is_denial(const value& reply);
/// Whether an error says that the server serves nobody for now: it loads its data, or runs a script.
[[nodiscard]] bool is_obstacle(const value& reply);

/// The fields of a reply to INFO; none in any other reply.
[[nodiscard]] server_facts::fields fields_in_info(const value& reply);
/// The settings in a reply to CONFIG GET; none in an error.
[[nodiscard]] server_facts::fields settings_in(const value& reply);
/// Whether a server with these settings has each write on its disk before its reply: `appendonly yes`,
/// `appendfsync always`, and `no-appendfsync-on-rewrite no`. Without the last one, writes may go without the
/// disk while the file is written anew.
[[nodiscard]] bool keep_each_write(const server_facts::fields& settings);

/// Parts of `findings_of`: what a node says of its cluster, and what the side keys say of their clients.
void examine_cluster(const server_facts& facts, std::vector<finding>& to);
void examine_keys(const server_facts& facts, const dialect& in, std::vector<finding>& to);

/// Holds what a server has said to the conditions of docs/stores/redis.md.
/// \param longest_ttl in use, with its grace.
[[nodiscard]] std::vector<finding> findings_of(const server_facts& facts, const dialect& in,
                                               std::chrono::milliseconds longest_ttl);

}  // namespace holdfast::redis
