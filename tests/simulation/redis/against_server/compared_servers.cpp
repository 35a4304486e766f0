#include "simulation/redis/against_server/compared_servers.hpp"

#include <chrono>
#include <utility>

namespace holdfast::sim {

std::int64_t real_now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

real_server::real_server(const std::string& socket_path) {
  for (auto& w : wires_) {
    w = std::make_unique<wire>(socket_path);
    w->ask({"HELLO", "3"});
  }
  wires_[0]->ask({"FLUSHALL"});
  wires_[0]->ask({"SCRIPT", "FLUSH"});
}

void real_server::subscribe(std::size_t client, const std::string& channel) {
  wires_.at(client)->say(bytes_of({"SUBSCRIBE", channel}));
  static_cast<void>(take_pushes(client));
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

}  // namespace holdfast::sim
