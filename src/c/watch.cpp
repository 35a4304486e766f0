// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <sys/eventfd.h>
#include <utility>

#include "c/guard.hpp"
#include "c/handles.hpp"
#include "c/wakeup.hpp"

using namespace holdfast::c;  // NOLINT(google-build-using-namespace)

struct holdfast_watch : owned {
  event_descriptor changed{0};
  std::shared_ptr<void> registration;  // last: no call comes after its end
};

int holdfast_watch_open(holdfast_client* client, const char* name, holdfast_watch** watch, char** message) {
  return guarded(message, [&] {
    auto*& out = cleared(watch, "watch");
    const auto& locks = required(client, "client").locks;
    auto made = std::make_unique<holdfast_watch>();
    auto tell = [&event = made->changed] { event.add(1); };
    made->registration = name == nullptr ? locks.watch(tell) : locks.watch(name, tell);
    out = made.release();
  });
}

int holdfast_watch_fd(const holdfast_watch* watch) {
  return watch != nullptr && watch->is_ours() ? watch->changed.fd() : -1;
}

void holdfast_watch_clear(holdfast_watch* watch) {
  // A child has the same counter as its parent, who would miss a change.
  if (watch != nullptr && watch->is_ours()) watch->changed.clear();
}

void holdfast_watch_free(holdfast_watch* watch) { delete watch; }
