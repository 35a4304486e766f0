// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <string>

#include "support/actor.hpp"

namespace holdfast::interop {

/// A process with Curator's locks; it takes the lines that stand at the top of curator/Actor.java.
class curator : public test::actor {
 public:
  /// `servers` as Curator takes them, "HOST:PORT,HOST:PORT"; options as of its line "open".
  explicit curator(const std::string& servers, const std::string& options = {})
      // Quick to start and small; no performance data, which would be a file that a kill leaves behind.
      : actor{{"java", "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-cp",
               HOLDFAST_CURATOR_CLASS_PATH, "Actor"},
              {}} {
    EXPECT_EQ(ask("open " + servers + ' ' + options), "open") << "scripts/setup installs what it needs";
  }
};

}  // namespace holdfast::interop
