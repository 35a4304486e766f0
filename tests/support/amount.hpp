// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string_view>

namespace holdfast::test {

/// How often a test of load or endurance does what it repeats: `usual` times in a run of scripts/test, `all`
/// times where HOLDFAST_TESTS=all, as scripts/hunt sets it. Either number shows the same; the larger one
/// finds what is rare.
template <class Number>
Number amount(Number usual, Number all) {
  const char* const named = std::getenv("HOLDFAST_TESTS");
  return named != nullptr && std::string_view{named} == "all" ? all : usual;
}

}  // namespace holdfast::test
