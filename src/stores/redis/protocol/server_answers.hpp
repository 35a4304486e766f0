// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/machine.hpp"
#include "stores/redis/protocol/dialect.hpp"
#include "stores/redis/protocol/resp.hpp"

namespace holdfast::redis {

/// The request_error of a server's error reply.
/// \param error begins with its code, as in "LOADING Redis is loading ...".
[[nodiscard]] store::request_error request_error_of(const std::string& error);

using answer_fields = std::map<std::string, std::string, std::less<>>;

/// The fields of a reply to INFO; none in any other reply.
[[nodiscard]] answer_fields fields_in_info(const value& reply);
/// The settings in a reply to CONFIG GET; none in an error.
[[nodiscard]] answer_fields settings_in(const value& reply);
/// Whether a server with these settings has each write on its disk before its reply: `appendonly yes`,
/// `appendfsync always`, and `no-appendfsync-on-rewrite no`. Without the last one, writes may go without the
/// disk while the file is written anew.
[[nodiscard]] bool keep_each_write(const answer_fields& settings);

/// Whether an error says that this user may not do that.
[[nodiscard]] bool is_denial(const value& reply);
/// Whether an error says that the server serves nobody for now: it loads its data, or runs a script.
[[nodiscard]] bool is_obstacle(const value& reply);

/// A command that a user needs, in a form that changes nothing at the server.
struct right {
  std::vector<std::string> probe;
  std::string grant;        // as ACL SETUSER takes it: "+client|kill"
  std::string consequence;  // of its absence; empty: locks do not work without it
};
/// The rights that a user of these settings needs. \param probe a name that is no lock's.
[[nodiscard]] std::vector<right> needed_rights(const dialect& in, std::string_view probe, bool has_database);

}  // namespace holdfast::redis
