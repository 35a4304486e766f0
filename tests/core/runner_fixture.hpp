// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/samples.hpp"
#include "core/scripted_link.hpp"
#include "core/virtual_time.hpp"
#include "lease/lease_record.hpp"
#include "runtime/driver.hpp"

namespace holdfast::test {

/// What production runs between the lease core and a link, on virtual time, with the test for a store.
struct runner_fixture {
  virtual_time time;
  scripted_link link;
  runtime::driver port{time, link};

  /// The store's answer, under the core lock.
  void answer(const tickets::reply& with, std::size_t which = 0) {
    time.turn([&] { link.answer(with, which); });
  }
  void answer(const store::request_error& with, std::size_t which = 0) {
    time.turn([&] { link.answer(with, which); });
  }
  /// The store's notification about a claim of this owner.
  void notify(std::uint8_t owner, const store::notification& n) { notify(id(owner), n); }
  void notify(const owner_id& owner, store::notification n) {
    n.owner = owner;
    time.turn([&] { link.notify(n); });
  }
  /// What is asked and not answered, oldest first.
  [[nodiscard]] std::vector<task> pending_tasks() const {
    std::vector<task> tasks;
    for (std::size_t i = 0; i < link.open(); ++i) tasks.push_back(task_of(link.request(i)));
    return tasks;
  }
};

using tasks = std::vector<task>;

[[nodiscard]] inline lease_core::lease_record_ptr a_lease(std::uint8_t owner, bool renews = true,
                                                          duration ttl = 30s) {
  store::claim c = a_claim(owner);
  c.renews = renews;
  c.ttl = ttl;
  return std::make_shared<lease_core::lease_record>(c, fencing_token{owner});
}

}  // namespace holdfast::test
