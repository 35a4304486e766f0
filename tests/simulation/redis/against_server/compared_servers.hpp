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
  /// \return a push without items; what there is to say comes as pushes. Or an error.
  virtual redis::value subscribe(std::size_t client, const strings& command) = 0;
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
  redis::value subscribe(std::size_t client, const strings& command) override;
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
  redis::value subscribe(std::size_t client, const strings& command) override { return ask(client, command); }

 private:
  redis_model model_;
  std::array<connection, clients> connections_;
  std::array<std::vector<redis::value>, clients> pushes_;
};

/// A command of a test: who sends it, and what of the answer is compared.
struct step {
  enum class comparison : std::uint8_t {
    exact,
    set,           // its items in any order
    seconds,       // numbers are times
    milliseconds,  //
    clock,         // TIME's seconds
    scan,          // all keys that the whole loop finds
    error,         // or none
    messages,      // (UN)SUBSCRIBE: by pushes
  };
  std::size_t client = 0;
  strings command;
  comparison compared = comparison::exact;
};
[[nodiscard]] std::string describe(const step& s);
/// The answer, in the form in which it is compared.
[[nodiscard]] redis::value answer_of(compared_server& of, const step& s);
[[nodiscard]] bool agree(const redis::value& a, const redis::value& b, step::comparison compared);

}  // namespace holdfast::sim
