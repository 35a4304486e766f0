// SPDX-License-Identifier: Apache-2.0
// Where the function that checks fencing tokens is loaded if there are several servers.

#include <gmock/gmock.h>

#include "faults/redis/cluster.hpp"
#include "faults/redis/sentinel.hpp"
#include <holdfast/schema.hpp>

namespace holdfast::faults {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class redis_sentinel_fences : public on_sentinels {};

TEST_F(redis_sentinel_fences, are_loaded_into_the_primary_that_sentinels_name) {
  EXPECT_TRUE(apply_fence_schema(group_.url()));
  EXPECT_FALSE(apply_fence_schema(group_.url()));
  EXPECT_EQ(group_.primary().ask({"FCALL", "holdfast_fence", "1", "fence", "5"}), "OK");
}

class redis_cluster_fences : public on_cluster {
 protected:
  redis_cluster_fences() : on_cluster{primaries()} {}
};

TEST_F(redis_cluster_fences, are_loaded_into_each_primary) {
  EXPECT_TRUE(apply_fence_schema(nodes_.url()));
  EXPECT_FALSE(apply_fence_schema(nodes_.url()));
  for (std::size_t i = 0; i < nodes_.node_count(); ++i)
    EXPECT_THAT(nodes_.node(i).ask({"FUNCTION", "LIST"}), HasSubstr("holdfast_fence")) << i;
  auto& owner = nodes_.node(nodes_.owner_of(nodes_.slot_of("{stock}:fence")));
  const auto set = [&](const char* token) {
    return owner.ask({"FCALL", "holdfast_fence", "2", "{stock}:fence", "{stock}:units", token, "SET",
                      "{stock}:units", "9"});
  };
  EXPECT_EQ(set("5"), "OK");
  EXPECT_THAT(set("4"), StartsWith("-HOLDFASTFENCED"));
}

}  // namespace
}  // namespace holdfast::faults
