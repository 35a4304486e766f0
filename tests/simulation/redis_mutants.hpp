// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/mutant.hpp"

namespace holdfast::sim {

/// Changes in the text of scripts, made on their way to the server.
class lua_mutation {
 public:
  /// \throws std::runtime_error where the text to replace is not there, or more than once.
  explicit lua_mutation(mutant which);

  /// Puts the mutant's text, which is kept here, in the place of a script, or of its digest.
  void apply(std::vector<std::string_view>& command) const;

 private:
  std::map<std::string, std::string, std::less<>> texts_;  // by the real digest, and by the real text
};

}  // namespace holdfast::sim
