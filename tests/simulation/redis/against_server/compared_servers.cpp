#include "simulation/redis/against_server/compared_servers.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "simulation/redis/against_server/values.hpp"

namespace holdfast::sim {

using kind = redis::value::kind;

std::int64_t real_now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

real_server::real_server(const std::string& socket_path) {
  for (auto& w : wires_) w = std::make_unique<wire>(socket_path);
  wires_[0]->ask({"FLUSHALL"});
  wires_[0]->ask({"SCRIPT", "FLUSH"});
}

redis::value real_server::subscribe(std::size_t client, const strings& command) {
  wire& w = *wires_.at(client);
  w.say(bytes_of(command) + bytes_of({"ECHO", "end"}));
  redis::value reply = w.hear();
  if (reply.is(kind::error) && reply.text.starts_with("ERR wrong number"))
    w.hear();  // the end
  else if (!reply.is(kind::error))
    reply = {kind::push, 0, {}, {}};
  return reply;
}

std::vector<redis::value> real_server::exchange(std::size_t client, const std::string& bytes,
                                                std::size_t replies) {
  wire& w = *wires_.at(client);
  w.say(bytes);
  std::vector<redis::value> all(replies);
  for (redis::value& reply : all) reply = w.hear();
  return all;
}

model_server::model_server()
    : model_{real_now_us, [this](std::uint64_t to, const redis::value& push) {
               for (std::size_t i = 0; i < clients; ++i) {
                 if (connections_.at(i).id == to) pushes_.at(i).push_back(push);
               }
             }} {
  for (auto& c : connections_) c = model_.connect();
}

std::vector<redis::value> model_server::take_pushes(std::size_t client) {
  return std::exchange(pushes_.at(client), {});
}

std::vector<redis::value> model_server::exchange(std::size_t client, const std::string& bytes,
                                                 std::size_t /*replies*/) {
  redis::parser commands;
  commands.feed(bytes);
  std::vector<redis::value> all;
  while (const auto command = commands.next()) {
    strings texts;
    for (const redis::value& argument : command->items) texts.push_back(argument.text);
    all.push_back(ask(client, texts));
  }
  return all;
}

std::string describe(const step& s) {
  std::string text = std::to_string(s.client) + ">";
  for (const std::string& argument : s.command) text += ' ' + quoted(argument);
  return text;
}

namespace {

/// Where in a script an error came up stands behind it. LuaJIT does not know that of a call that a function
/// ends with (`return redis.call(...)`, `return error(...)`): nothing of the function is left by then.
constexpr std::string_view place = " script: ";
bool has_place(std::string_view error) { return error.find(place) != std::string_view::npos; }
std::string without_place(std::string_view error) {
  std::string message{error.substr(0, error.find(place))};
  constexpr std::string_view before_line = "ERR user_script:";
  if (message.starts_with(before_line)) message = "ERR " + message.substr(message.find(": ") + 2);
  return message;
}

/// Both go their own ways through the keys, and may show one twice.
redis::value scanned(compared_server& of, const step& s) {
  constexpr int longest = 1000;
  std::vector<std::string> found;
  strings command = s.command;
  for (int i = 0; i < longest; ++i) {
    redis::value reply = of.ask(s.client, command);
    if (!reply.is(kind::list) || reply.items.size() != 2) return reply;
    for (auto& key : reply.items[1].items) found.push_back(std::move(key.text));
    command[1] = reply.items[0].text;
    if (command[1] == "0") break;
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  redis::value all{kind::list, 0, {}, {}};
  for (auto& key : found) all.items.push_back({kind::text, 0, std::move(key), {}});
  return all;
}

}  // namespace

redis::value answer_of(compared_server& of, const step& s) try {
  if (s.compared == step::comparison::scan) return scanned(of, s);
  if (s.compared == step::comparison::messages) return of.subscribe(s.client, s.command);
  redis::value reply = of.ask(s.client, s.command);
  if (s.compared == step::comparison::set) sort_items(reply);
  if (s.compared == step::comparison::clock && reply.items.size() == 2) {
    return {kind::number, std::stoll(reply.items[0].text), {}, {}};
  }
  if (s.compared == step::comparison::error && !reply.is(kind::error)) return {};
  return reply;
} catch (const std::runtime_error& problem) {
  throw std::runtime_error{describe(s) + ": " + problem.what()};
}

bool agree(const redis::value& a, const redis::value& b, step::comparison compared) {
  if (a.is(kind::error) && b.is(kind::error) && has_place(a.text) != has_place(b.text)) {
    return without_place(a.text) == without_place(b.text);
  }
  // The tests' times are ten seconds apart at least.
  if (compared == step::comparison::seconds || compared == step::comparison::clock) return same(a, b, 4);
  if (compared == step::comparison::milliseconds) return same(a, b, 4000);
  return same(a, b);
}

}  // namespace holdfast::sim
