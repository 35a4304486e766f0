#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "simulation/redis/against_server/compared_servers.hpp"
#include "simulation/redis/against_server/random_choices.hpp"

namespace holdfast::sim {

/// Commands at random: of few keys, so that they meet keys of any type, with right and wrong arguments. Each
/// sequence has some commands, of one type mostly, that it likes best, so that they come upon what they left.
/// Whatever changes from server to server (ids, memory) is not asked for.
class raw_steps {
 public:
  explicit raw_steps(random_choices& d);

  [[nodiscard]] step next();
  /// A command that may stand in a script, too.
  [[nodiscard]] strings command();
  /// An argument: a text, a number, or what only looks like one.
  [[nodiscard]] std::string argument();

 private:
  /// \param home the key that is taken mostly, if any.
  [[nodiscard]] std::string filled(char placeholder, const std::string* home = nullptr);

  random_choices& choices_;
  std::size_t first_liked_;
};

/// The text of a script at random; it may use KEYS[1], KEYS[2], ARGV[1] and ARGV[2].
[[nodiscard]] std::string script_text(random_choices& d, raw_steps& commands);

}  // namespace holdfast::sim
