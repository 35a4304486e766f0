#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/io_deadline.hpp"
#include "stores/redis/link/connection.hpp"
#include "stores/redis/link/introduction.hpp"
#include "stores/redis/link/settings.hpp"
#include "stores/redis/link/stream.hpp"
#include "stores/redis/protocol/value.hpp"

namespace holdfast::redis {

/// Commands to a server and their replies, as a blocking exchange over a connection of its own.
class conversation {
 public:
  /// Connects, and logs in, within the connect limit. All that follows has that and the answer limit.
  /// \param secure null: no TLS. \throws connection_error.
  conversation(const settings& in, const server_address& to, const credentials& login,
               const tls_context* secure, int stop);

  /// \throws connection_error; so do the others.
  [[nodiscard]] value ask(const std::vector<std::string>& arguments) { return ask_all({arguments}).front(); }
  /// In one round trip.
  [[nodiscard]] std::vector<value> ask_all(const std::vector<std::vector<std::string>>& questions);
  /// \param command one, in the protocol's form.
  [[nodiscard]] value ask_as_written(std::string_view command);

 private:
  [[nodiscard]] value hear();

  runtime::io_deadline limit_;
  connection made_;
  introduction talk_{made_, limit_};
};

}  // namespace holdfast::redis
