// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/io_deadline.hpp"
#include "stores/redis/link/connection.hpp"
#include "stores/redis/link/settings.hpp"
#include "stores/redis/protocol/cluster.hpp"
#include "stores/redis/protocol/replies.hpp"
#include "stores/redis/protocol/resp.hpp"

namespace holdfast::redis {

/// Commands to a server and their replies, as a blocking exchange over a connection of its own.
class conversation {
 public:
  /// Connects, and logs in, within the connect limit. All that follows has that and the answer limit.
  /// \throws connection_error; so do the others.
  conversation(const settings& in, const server_address& to, const credentials& login,
               const tls_context* secure, int stop)
      : limit_{in.connect_limit, stop} {
    made_.parser = redis::parser{std::size_t{16} * 1024 * 1024};
    made_.stream = connect_stream(to, secure, limit_);
    limit_.begin("the server to answer");
    std::string hello;
    const auto now = login.current();
    append_hello(hello, now);
    talk_.send(hello);
    require_no_error(hear(), now);
    limit_ = runtime::io_deadline{in.connect_limit + in.answer_limit, stop};
    limit_.begin("the server to answer");
  }

  [[nodiscard]] value ask(const std::vector<std::string>& arguments) { return ask_all({arguments}).front(); }
  /// In one round trip.
  [[nodiscard]] std::vector<value> ask_all(const std::vector<std::vector<std::string>>& questions) {
    std::string bytes;
    for (const auto& arguments : questions) {
      append_command(bytes, arguments.size());
      for (const std::string& argument : arguments) append_bulk_string(bytes, argument);
    }
    talk_.send(bytes);
    std::vector<value> replies;
    while (replies.size() < questions.size()) replies.push_back(hear());
    return replies;
  }

 private:
  [[nodiscard]] value hear() {
    try {
      return talk_.hear();
    } catch (const parser::garbage& g) {
      throw connection_error{
          {errc::corrupt_store, std::string{"it does not answer as Redis does: "} + g.what()}, false};
    }
  }

  runtime::io_deadline limit_;
  connection made_;
  introduction talk_{made_, limit_};
};

/// The slots of a cluster, as the first of the given nodes has them that knows any.
/// \throws connection_error if none does.
[[nodiscard]] inline slot_map slots_of(const settings& in, const tls_context* secure, int stop) {
  failure problem;
  for (const server_address& node : in.cluster) {
    try {
      conversation with{in, node, in.login, secure, stop};
      slot_map map = slot_map::read(with.ask({"CLUSTER", "SLOTS"}), node);
      if (!map.is_empty()) return map;
      problem = {errc::unavailable, node.place() + " knows of no slot"};
    } catch (const connection_error& c) {
      problem = c.reason;
    } catch (const misunderstood&) {
      problem = {errc::foreign_store, node.place() + " is no node of a cluster"};
    }
  }
  throw connection_error{problem};
}

}  // namespace holdfast::redis
