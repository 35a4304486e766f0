#pragma once

#include <functional>
#include <map>
#include <string>

#include <holdfast/options.hpp>

namespace holdfast::cli {

/// How long each name's first waiter has waited, of names that were inspected.
using wait_lengths = std::map<std::string, duration, std::less<>>;

}  // namespace holdfast::cli
