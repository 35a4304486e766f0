#include "stores/redis/link/conversation.hpp"

#include <cstddef>

#include "stores/redis/link/socket.hpp"
#include "stores/redis/protocol/resp.hpp"

namespace holdfast::redis {

namespace {

constexpr std::size_t longest_reply = std::size_t{16} * 1024 * 1024;

}  // namespace

conversation::conversation(const settings& in, const server_address& to, const credentials& login,
                           const tls_context* secure, int stop)
    : limit_{in.connect_limit, stop} {
  made_.parser = redis::parser{longest_reply};
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

std::vector<value> conversation::ask_all(const std::vector<std::vector<std::string>>& questions) {
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

value conversation::ask_as_written(std::string_view command) {
  talk_.send(command);
  return hear();
}

value conversation::hear() {
  try {
    return talk_.hear();
  } catch (const parser::garbage& g) {
    throw connection_error{
        {errc::corrupt_store, std::string{"it does not answer as Redis does: "} + g.what()}, false};
  }
}

}  // namespace holdfast::redis
