// SPDX-License-Identifier: Apache-2.0
#include "c/queue.hpp"

#include "api/client_core.hpp"
#include "holdfast/error.hpp"

using holdfast::c::cleared;
using holdfast::c::guarded;
using holdfast::c::wait_of;
using holdfast::detail::to_limit;

namespace holdfast::c {

namespace {

void discard(const holdfast_completion& end) {
  holdfast_free(end.message);
  holdfast_lease_free(end.lease);
}

}  // namespace

ends::~ends() { close(); }

void ends::add(const holdfast_completion& end) {
  {
    const std::lock_guard held{mutex_};
    if (!is_closed_) {
      all_.push_back(end);
      if (all_.size() == 1) is_filled_.add(1);
      return;
    }
  }
  discard(end);
}

bool ends::take(holdfast_completion& oldest) {
  const std::lock_guard held{mutex_};
  if (all_.empty()) return false;
  oldest = all_.front();
  all_.pop_front();
  if (all_.empty()) is_filled_.clear();
  return true;
}

void ends::close() noexcept {
  std::deque<holdfast_completion> left;
  {
    const std::lock_guard held{mutex_};
    is_closed_ = true;
    left.swap(all_);
  }
  for (const auto& each : left) discard(each);
}

void started::end(std::error_code code, const std::string& detail) {
  end({tag_, code.value(), copy_of(error{code, detail}.what()), nullptr});
}

void started::end(const holdfast_completion& last) {
  to_->add(last);
  starter_.serve();
}

void started::go_on(detail::client_core& from) {
  if (to_->patience() == duration::zero()) return from.kick();
  from.help(starter_, to_->patience());
}

}  // namespace holdfast::c

int holdfast_queue_open(int64_t patience_ms, holdfast_queue** queue, char** message) {
  return guarded(message, [&] {
    auto*& out = cleared(queue, "queue");
    out = std::make_unique<holdfast_queue>(to_limit(wait_of(patience_ms, "patience_ms"))).release();
  });
}

int holdfast_queue_fd(const holdfast_queue* queue) {
  return queue != nullptr && queue->is_ours() ? queue->all->fd() : -1;
}

bool holdfast_queue_next(holdfast_queue* queue, holdfast_completion* completion) {
  if (completion == nullptr) return false;
  *completion = {};
  return queue != nullptr && queue->is_ours() && queue->all->take(*completion);
}

void holdfast_queue_free(holdfast_queue* queue) {
  // In a child a thread of the parent may have locked it for ever, and the ends are the parent's.
  if (queue == nullptr || !queue->is_ours()) return;
  queue->all->close();
  delete queue;
}
