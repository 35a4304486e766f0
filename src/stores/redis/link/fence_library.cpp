// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/link/fence_library.hpp"

#include <memory>
#include <string>
#include <vector>

#include "stores/redis/link/conversation.hpp"
#include "stores/redis/protocol/replies.hpp"
#include "stores/redis/protocol/sentinel_replies.hpp"
#include "stores/redis/protocol/server_answers.hpp"

namespace holdfast::redis {

namespace {

/// The text of a library in the reply to FUNCTION LIST; empty: there is none.
std::string code_in(const value& reply) {
  if (reply.text.starts_with("#!")) return reply.text;
  for (const value& each : reply.items) {
    if (std::string code = code_in(each); !code.empty()) return code;
  }
  return {};
}

class provision {
 public:
  provision(const settings& in, int stop) : in_{in}, stop_{stop} {
    if (in.tls.on) secure_ = std::make_unique<tls_context>(in);
  }

  [[nodiscard]] bool load(std::string_view library) const {
    bool changed = false;
    for (const server_address& each : servers()) changed = load(library, each) || changed;
    return changed;
  }

 private:
  [[nodiscard]] conversation talk_to(const server_address& at, const credentials& login) const {
    return {in_, at, login, secure_.get(), stop_};
  }

  [[nodiscard]] bool load(std::string_view library, const server_address& at) const {
    conversation with = talk_to(at, in_.login);
    const auto ask = [&](const std::vector<std::string>& question) {
      value reply = with.ask(question);
      if (!reply.is(value::kind::error)) return reply;
      if (is_denial(reply))
        throw connection_error{{errc::permission_denied, at.place() + ": " + reply.text}, false};
      const bool is_old = reply.text.find("unknown command") != std::string::npos;
      throw connection_error{
          {errc::unavailable, at.place() + ": " + reply.text +
                                  (is_old ? "; functions came with Redis 7: include the printed function in "
                                            "scripts of your own"
                                          : "")},
          false};
    };
    const std::string name{library.substr(library.find('=') + 1, library.find('\n') - library.find('=') - 1)};
    const std::string before = code_in(ask({"FUNCTION", "LIST", "LIBRARYNAME", name, "WITHCODE"}));
    if (before == library) return false;
    if (!before.empty() && before.find("\n-- Holdfast") == std::string::npos) {
      throw connection_error{
          {errc::foreign_store, "the library '" + name + "' at " + at.place() + " is not Holdfast's"}, false};
    }
    static_cast<void>(ask({"FUNCTION", "LOAD", "REPLACE", std::string{library}}));
    return true;
  }

  [[nodiscard]] std::vector<server_address> servers() const {
    if (in_.has_sentinels()) return {primary()};
    if (in_.is_cluster()) return slots_of(in_, secure_.get(), stop_).primaries();
    return {in_.server};
  }

  /// As the first Sentinel names it that knows it.
  [[nodiscard]] server_address primary() const {
    failure problem{errc::unavailable, "no Sentinel knows the primary '" + in_.sentinel.primary + "'"};
    for (const server_address& each : in_.sentinel.addresses) {
      try {
        const auto found =
            primary_address_in(talk_to(each, in_.sentinel.login)
                                   .ask({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", in_.sentinel.primary}));
        if (found) return *found;
      } catch (const connection_error& c) {
        problem = c.reason;
      } catch (const misunderstood&) {
        problem = {errc::corrupt_store, each.place() + " does not answer as a Sentinel does"};
      }
    }
    throw connection_error{problem};
  }

  const settings& in_;
  int stop_;
  std::unique_ptr<tls_context> secure_;
};

}  // namespace

bool provide_library(const settings& in, std::string_view library, int stop) {
  return provision{in, stop}.load(library);
}

}  // namespace holdfast::redis
