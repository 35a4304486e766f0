#pragma once

#include <string>
#include <string_view>

#include "runtime/io_deadline.hpp"
#include "stores/redis/link/connection.hpp"
#include "stores/redis/link/settings.hpp"
#include "stores/redis/protocol/value.hpp"

namespace holdfast::redis {

/// The first commands of a connection and their replies, as a blocking exchange.
class introduction {
 public:
  introduction(connection& with, const runtime::io_deadline& limit) : with_{with}, limit_{limit} {}

  /// \throws connection_error.
  void send(std::string_view bytes);
  /// The next reply. Notifications that come before it are kept in the connection.
  /// \throws connection_error, parser::garbage.
  [[nodiscard]] value hear();

 private:
  connection& with_;
  const runtime::io_deadline& limit_;
};

/// Appends the greeting, which logs in if there is anybody to log in.
void append_hello(std::string& out, const std::optional<login_data>& login);
/// \throws connection_error where the reply is an error: without the password, which some servers repeat.
void require_no_error(const value& reply, const std::optional<login_data>& login);
/// A field of what HELLO answers; null where it is not there.
[[nodiscard]] const value* field_of(const value& hello, std::string_view name);

}  // namespace holdfast::redis
