#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simulation/redis/against_server/wire.hpp"
#include "simulation/redis/redis_model.hpp"

namespace holdfast::sim {

/// Microseconds since 1970, which both servers go by.
[[nodiscard]] std::int64_t real_now_us();

/// A server with two clients: the real one, emptied, or a new model.
class compared_server {
 public:
  static constexpr std::size_t clients = 2;

  virtual ~compared_server() = default;
  virtual redis::value ask(std::size_t client, const strings& command) = 0;
  /// Carries out what stands in `bytes`. \return as many replies
  virtual std::vector<redis::value> exchange(std::size_t client, const std::string& bytes,
                                             std::size_t replies) = 0;
  /// What came out of turn since this was asked last.
  virtual std::vector<redis::value> take_pushes(std::size_t client) = 0;
  virtual void subscribe(std::size_t client, const std::string& channel) = 0;
};

class real_server : public compared_server {
 public:
  explicit real_server(const std::string& socket_path);
  redis::value ask(std::size_t client, const strings& command) override {
    return wires_.at(client)->ask(command);
  }
  std::vector<redis::value> take_pushes(std::size_t client) override {
    return wires_.at(client)->take_pushes();
  }
  void subscribe(std::size_t client, const std::string& channel) override;
  std::vector<redis::value> exchange(std::size_t client, const std::string& bytes,
                                     std::size_t replies) override;

 private:
  std::array<std::unique_ptr<wire>, clients> wires_;
};

class model_server : public compared_server {
 public:
  model_server();
  redis::value ask(std::size_t client, const strings& command) override {
    return model_.execute(command, connections_.at(client));
  }
  std::vector<redis::value> take_pushes(std::size_t client) override;
  std::vector<redis::value> exchange(std::size_t client, const std::string& bytes,
                                     std::size_t replies) override;
  void subscribe(std::size_t client, const std::string& channel) override {
    static_cast<void>(ask(client, {"SUBSCRIBE", channel}));
  }

 private:
  redis_model model_;
  std::array<connection, clients> connections_;
  std::array<std::vector<redis::value>, clients> pushes_;
};

}  // namespace holdfast::sim
