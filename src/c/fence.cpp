// SPDX-License-Identifier: Apache-2.0
#include "holdfast/fence.hpp"

#include <cstddef>
#include <memory>

#include "c/guard.hpp"

using holdfast::duration;
using holdfast::fencing_token;
using namespace holdfast::c;  // NOLINT(google-build-using-namespace)

struct holdfast_fence {
  template <class... Arguments>
  explicit holdfast_fence(const Arguments&... arguments) : tokens{arguments...} {}

  holdfast::fence tokens;
};

int holdfast_fence_open(const char* file, int64_t wait_ms, size_t most, holdfast_fence** fence,
                        char** message) {
  return guarded(message, [&] {
    auto*& out = cleared(fence, "fence");
    const duration wait = wait_of(wait_ms, "wait_ms");
    const std::size_t limit = most == 0 ? 65536 : most;
    out = (file == nullptr ? std::make_unique<holdfast_fence>(limit)
                           : std::make_unique<holdfast_fence>(std::filesystem::path{file}, wait, limit))
              .release();
  });
}

int holdfast_fence_admit(holdfast_fence* fence, const char* resource, uint64_t token, bool* admitted,
                         char** message) {
  return guarded(message, [&] {
    required(admitted, "admitted") = false;
    *admitted = required(fence, "fence").tokens.admit(text_of(resource, "resource"), fencing_token{token});
  });
}

int holdfast_fence_largest(const holdfast_fence* fence, const char* resource, uint64_t* token,
                           char** message) {
  return guarded(message, [&] {
    required(token, "token") = 0;
    *token = required(fence, "fence").tokens.largest(text_of(resource, "resource")).value();
  });
}

void holdfast_fence_free(holdfast_fence* fence) { delete fence; }
