// SPDX-License-Identifier: Apache-2.0
#include "serve/answers.hpp"

#include <charconv>
#include <fmt/format.h>
#include <optional>
#include <stdexcept>

#include "output/shell.hpp"
#include "output/text.hpp"
#include "release_request.hpp"
#include <holdfast/error.hpp>

namespace holdfast::cli {

namespace {

/// The name of an error as `errc` has it.
struct http_error {
  unsigned status;
  std::string code;
};

http_error http_error_of(std::error_code code) {
  if (code.category() != category()) return {500, "internal_error"};
  switch (static_cast<errc>(code.value())) {
    case errc::invalid_name: return {400, "invalid_name"};
    case errc::invalid_argument: return {400, "invalid_argument"};
    case errc::wrong_type: return {409, "wrong_type"};
    case errc::permission_denied: return {502, "permission_denied"};
    case errc::unknown_outcome: return {502, "unknown_outcome"};
    case errc::unavailable: return {503, "unavailable"};
    case errc::exhausted: return {503, "exhausted"};
    case errc::closed: return {503, "closed"};
    case errc::foreign_store: return {502, "foreign_store"};
    case errc::corrupt_store: return {502, "corrupt_store"};
    default: return {500, "internal_error"};
  }
}

/// A mistake in a request.
struct bad_body : std::runtime_error {
  using std::runtime_error::runtime_error;
};

json parsed(const std::string& body) {
  if (body.empty()) return json::object();
  auto object = json::parse(body, nullptr, false);
  if (!object.is_object()) throw bad_body{"the body is not a JSON object"};
  return object;
}

/// A number, or its digits: JavaScript's numbers end at 2^53.
std::optional<fencing_token> token_in(const json& object) {
  const auto found = object.find("token");
  if (found == object.end()) return std::nullopt;
  std::uint64_t number = 0;
  if (found->is_number_unsigned()) {
    number = found->get<std::uint64_t>();
  } else if (found->is_string()) {
    const auto& digits = found->get_ref<const std::string&>();
    const auto* const end = digits.data() + digits.size();
    const auto read = std::from_chars(digits.data(), end, number);
    if (read.ec != std::errc{} || read.ptr != end) number = 0;
  }
  if (number == 0) throw bad_body{"token: not a number above 0"};
  return fencing_token{number};
}

std::string reason_in(const json& object) {
  const auto found = object.find("reason");
  if (found == object.end()) return {};
  if (!found->is_string()) throw bad_body{"reason: not a text"};
  return found->get<std::string>();
}

http_reply no_such_hold() { return error_reply(409, "not_held", "nobody has that hold; it may have ended"); }

http_reply with_status(unsigned status, http_reply reply) {
  reply.status = status;
  return reply;
}

}  // namespace

http_reply text_reply(unsigned status, std::string text) {
  http_reply reply;
  reply.status = status;
  reply.content_type = "text/plain; charset=utf-8";
  reply.body = {share(std::move(text))};
  return reply;
}

http_reply json_reply(const json& object) {
  http_reply reply;
  reply.body = {share(dumped(object) + '\n')};
  return reply;
}

http_reply dated_reply(boot_clock::time_point taken_at, const json& found) {
  json object{{"taken_ago_s", to_seconds(boot_clock::now() - taken_at)}};
  object.update(found);
  return json_reply(object);
}

http_reply error_reply(unsigned status, const std::string& code, const std::string& message) {
  return with_status(status, json_reply({{"error", code}, {"message", without_secrets(message)}}));
}

http_reply busy_reply(const std::string& cause) {
  http_reply reply = error_reply(503, "busy", cause + "; nothing was done, ask again later");
  reply.headers.emplace_back("Retry-After", "1");
  return reply;
}

http_reply failure_reply(const std::exception& problem) {
  if (const auto* const known = dynamic_cast<const error*>(&problem)) {
    const auto kind = http_error_of(known->code());
    return error_reply(kind.status, kind.code, known->detail().empty() ? known->what() : known->detail());
  }
  if (dynamic_cast<const bad_body*>(&problem) != nullptr)
    return error_reply(400, "invalid_body", problem.what());
  return error_reply(500, "internal_error", problem.what());
}

http_reply answered(const std::function<http_reply()>& ask) {
  try {
    return ask();
  } catch (const std::exception& problem) {
    return failure_reply(problem);
  }
}

http_reply answer_lock(const client& locks, const std::string& name) {
  const auto state = locks.inspect(name, most_waiters_read);
  if (!state) return error_reply(404, "unknown_name", "the store does not know this name");
  return json_reply(describe(*state));
}

investigation read_queues(const client& locks) {
  auto found = investigate(locks, {}, [](std::size_t, std::size_t) {});
  // Whoever reads the page does so elsewhere: neither the environment of this server is there nor its
  // password.
  found.store_options = store_options(locks.url(), {});
  return found;
}

http_reply answer_why(const client& locks, investigation_cache::dated last, const std::string& name) {
  include_name(last.found, locks, name);
  keep_those_reached(last.found, name);
  return dated_reply(last.taken_at, describe_chain(last.found, name));
}

http_reply answer_deadlocks(const investigation_cache::dated& last) {
  return dated_reply(last.taken_at, describe_deadlocks(last.found));
}

std::optional<fencing_token> token_named_in(const std::string& body) {
  try {
    return token_in(parsed(body));
  } catch (const bad_body&) {
    return std::nullopt;
  }
}

http_reply answer_ask(const client& locks, const std::string& name, const std::string& body) {
  const auto object = parsed(body);
  const auto reason = reason_in(object);
  const auto outcome = ask_to_release(locks, name, token_in(object), reason);
  if (outcome.rest) {
    return error_reply(409, "not_held",
                       fmt::format("the holder has released it, and the store keeps it for {} more; a forced "
                                   "release ends that",
                                   to_text(*outcome.rest)));
  }
  if (outcome.holders == 0) return no_such_hold();
  json reply{{"name", name}, {"asked", outcome.holders}};
  if (outcome.asked_before) reply["asked_before"] = *outcome.asked_before;
  return json_reply(reply);
}

http_reply end_hold(const client& locks, const std::string& name, const std::string& body) {
  const auto token = token_in(parsed(body));
  if (!token) return error_reply(400, "invalid_body", "token: which hold is to end? Its number is missing");
  if (!locks.force_release(name, *token)) return no_such_hold();
  return json_reply({{"name", name}, {"ended", 1}});
}

}  // namespace holdfast::cli
