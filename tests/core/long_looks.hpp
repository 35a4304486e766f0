// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <limits>
#include <memory>
#include <string>

#include "core/describe.hpp"
#include "core/model_comparison.hpp"

namespace holdfast::test {

/// Looks that take more than one part get the same answers from the model and from a real store.
class long_looks {
 public:
  explicit long_looks(model_comparison& stores) : stores_{stores} {}

  void compare() {
    // The queue has more claims than are counted at once. The first have ended, and nobody has removed them.
    for (int i = 0; i < 70; ++i) claim("long", 1s, 1);
    for (int i = 0; i < 80; ++i) claim("long", 60s, 1);
    for (int i = 0; i < 1000; ++i) claim("long", i % 10 == 0 ? 1s : 60s, store::full_capacity);
    for (int i = 0; i < 70; ++i) {
      claim("held " + std::to_string(i), 60s, store::full_capacity);
      claim("held " + std::to_string(i), 60s, store::full_capacity);
      claim("idle " + std::to_string(i), 1s, store::full_capacity);
    }
    stores_.pass(2s);
    for (const std::size_t most : {std::size_t{0}, std::size_t{1}, std::size_t{64}, std::size_t{100},
                                   std::numeric_limits<std::size_t>::max()}) {
      for (const char* name : {"long", "held 7", "idle 7", "never used"}) {
        request_form look;
        look.kind = task::inspect;
        look.name = name;
        look.waiters_read = most;
        ask(look);
      }
    }
    for (const bool idle : {false, true}) {
      request_form all;
      all.kind = task::list;
      all.idle = idle;
      ask(all);
    }
  }

 private:
  void ask(const tickets::request& request) {
    const auto [model, real] = stores_.carry_out(request, id(200));
    EXPECT_EQ(describe(model.reply), describe(real.reply)) << describe(request);
  }
  void claim(const std::string& name, duration ttl, std::int64_t weight) {
    request_form r;
    r.kind = task::acquire;
    r.name = name;
    r.owner = id(static_cast<std::uint8_t>(++claims_ % 199));
    r.weight = weight;
    r.capacity = store::full_capacity;
    r.ttl = ttl;
    r.wait = true;
    r.metadata = std::make_shared<const std::string>("{}");
    ask(r);
  }

  model_comparison& stores_;
  int claims_ = 0;
};

}  // namespace holdfast::test
