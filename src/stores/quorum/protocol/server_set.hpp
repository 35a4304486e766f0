// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/failure.hpp"

namespace holdfast::quorum {

/// What a server says of itself on each connection.
struct self_description {
  std::optional<std::string> set;  ///< the servers that its clients name; empty: it knows of none
  bool keeps_set = true;           ///< false: this user may not read or write that
  std::string run;                 ///< the random id of its process; empty: not told
};

/// Whether all servers of a client take it for a client of the same servers.
///
/// Two clients of different sets could have a majority each. So each server keeps the set of its clients, and
/// one server that keeps another set is enough to refuse the client. A server under two names would have two
/// votes; its run id shows that.
class server_set {
 public:
  /// \param places of the servers, in any order.
  explicit server_set(std::vector<std::string> places);

  /// The set, as a server keeps it: the order of the places in the URL plays no part.
  [[nodiscard]] const std::string& text() const { return text_; }

  void on_hello(std::size_t server, const self_description& said);
  /// The connection on which it was heard is in use: the set can be written. \return whether the server's
  /// process may be another one than on the connection before.
  bool connected(std::size_t server);
  /// It cannot be reached. What it has said before stays.
  void on_unreachable(std::size_t server);
  /// The set is being written at the server.
  void join(std::size_t server);
  /// The write has failed there. \return whether it is worth another try: `lacks_again` says when. Not where
  /// the server has been heard again meanwhile, nor after a few failures on one connection.
  [[nodiscard]] bool failed(std::size_t server);
  /// The set can be written there again, if nothing has been heard since `failed`.
  void lacks_again(std::size_t server);
  /// It is this client that has written it there.
  void wrote(std::size_t server);
  /// Where it has, once: they are taken for servers that know of no set.
  [[nodiscard]] std::vector<std::size_t> take_written();

  /// Whether a server has neither been heard nor missed.
  [[nodiscard]] bool is_unheard() const;
  /// Whether the set is being written at a server.
  [[nodiscard]] bool is_joining() const;
  /// Those that know of no set, and can be told.
  [[nodiscard]] std::vector<std::size_t> lacking() const;
  /// Why the client is refused as a whole; empty: it is not, by what the servers have said.
  [[nodiscard]] std::optional<failure> conflict() const;
  /// The other set that a server keeps, for people; empty: it keeps none, or this one.
  [[nodiscard]] std::optional<std::string> other_at(std::size_t server) const;
  /// Another one of the servers that is the same process; empty: none before it in the order of the places.
  [[nodiscard]] std::optional<std::size_t> same_process_as(std::size_t server) const;
  /// Why one server is not used.
  [[nodiscard]] std::optional<failure> conflict_at(std::size_t server) const;

 private:
  enum class state : std::uint8_t { unheard, missed, agrees, lacks, joining, unwritten, conflicts };
  struct member {
    state is = state::unheard;
    bool is_heard = false;      // since it was last missed
    bool is_connected = false;  // and the set can be written there
    bool is_written = false;    // by this client
    unsigned failures = 0;      // to write it, since it was heard
    std::string other;          // the set that it keeps, if that is another one
    std::string run;
    std::string run_in_use;  // on the last connection that was in use
  };

  const std::vector<std::string> places_;
  std::string text_;
  std::vector<member> members_;
};

}  // namespace holdfast::quorum
