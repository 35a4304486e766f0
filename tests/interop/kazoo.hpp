// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <string>

#include "support/actor.hpp"

namespace holdfast::interop {

/// A process with kazoo's locks; it takes the lines that stand at the top of kazoo_actor.py.
class kazoo : public test::actor {
 public:
  /// `servers` as kazoo takes them, "HOST:PORT,HOST:PORT"; options as of its line "open".
  explicit kazoo(const std::string& servers, const std::string& options = {})
      // Debian's own, because it has Debian's python3-kazoo; -B: no litter among the sources.
      : actor{{"/usr/bin/python3", "-B", std::string{HOLDFAST_LIBRARIES_FOLDER} + "/kazoo_actor.py"}, {}} {
    EXPECT_EQ(ask("open " + servers + ' ' + options), "open") << "scripts/setup installs what it needs";
  }
};

}  // namespace holdfast::interop
