// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/request.hpp"
#include "runtime/batching_link.hpp"
#include "runtime/watchers.hpp"
#include "stores/memory/link/table.hpp"

namespace holdfast::memory {

/// Carries requests to a table in this process.
class link final : public runtime::batching_link {
 public:
  /// \param name of the table to share with other clients of this process; empty: a private table.
  link(runtime::event_loop& on, const std::string& name);
  ~link() override = default;
  link(const link&) = delete;
  link& operator=(const link&) = delete;

  std::shared_ptr<void> watch(store::watched target, std::function<void()> changed) override;
  void shut() override;

 private:
  bool execute(std::vector<job>& batch, bool last_try) noexcept override HOLDFAST_REQUIRES(executing());

  owner_id client_ = owner_id::random();
  std::shared_ptr<shared_table> table_;
  runtime::watchers watchers_;
  std::atomic<bool> is_watched_ = false;  // or was
};

}  // namespace holdfast::memory
