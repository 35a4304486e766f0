// SPDX-License-Identifier: Apache-2.0
#include "serve/investigation_cache.hpp"

#include <utility>

namespace holdfast::cli {

bool investigation_cache::is_of_use(const need& request) const {
  if (!last_ || last_->outcome.taken_at < request.changed_at) return false;
  return request.asked_at <= last_->ended || (!last_->problem && now_() - last_->ended < kept_for);
}

investigation_cache::dated investigation_cache::get(const need& request,
                                                    const std::function<investigation()>& read) {
  {
    const std::scoped_lock lock{mutex_};
    if (is_of_use(request)) {
      if (last_->problem) std::rethrow_exception(last_->problem);
      return last_->outcome;
    }
  }
  reading next{.outcome = {.taken_at = now_(), .found = {}}, .ended = {}, .problem = nullptr};
  try {
    next.outcome.found = read();
  } catch (...) {
    next.problem = std::current_exception();
  }
  next.ended = now_();
  const std::scoped_lock lock{mutex_};
  last_ = std::move(next);
  if (last_->problem) std::rethrow_exception(last_->problem);
  return last_->outcome;
}

void investigation_cache::expire() {
  const std::scoped_lock lock{mutex_};
  if (last_ && now_() - last_->ended >= kept_for) last_.reset();
}

}  // namespace holdfast::cli
