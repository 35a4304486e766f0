#include "stores/zookeeper/protocol/arrivals.hpp"

namespace holdfast::zookeeper {

namespace {

/// The limit of creations in flight, for all queues together.
constexpr std::size_t most_creations = 256;

}  // namespace

void arrivals::add(arrival a) {
  coming_.push_back(std::make_shared<arrival>(std::move(a)));
  create_next();
}

void arrivals::fail(const arrival_ptr& a, bool maybe_executed) {
  time_.at(time_.now(), [a, maybe_executed] { a->handler(session_ended(maybe_executed)); });
}

void arrivals::create_next() {
  while (creations_ < most_creations && !coming_.empty()) {
    const arrival_ptr a = std::move(coming_.front());
    coming_.pop_front();
    claim* const c = claims_.find(a->ref);
    if (c == nullptr) {  // given up, or the session has ended
      fail(a, false);
      continue;
    }
    ++creations_;
    lines_[c->queue].next.push_back(a);
    nodes_.submit(c->create(), [this, a, session = sessions_ended_](result r) {
      a->made = std::move(r);
      if (session != sessions_ended_) return;
      --creations_;
      create_next();
    });
    list_next(c->queue, c->base);
  }
}

void arrivals::expired() {
  ++sessions_ended_;
  creations_ = 0;
  for (const auto& [queue, waiting] : std::exchange(lines_, {})) {
    for (const arrival_ptr& a : waiting.next) fail(a, true);  // the listing in flight answers the others
  }
  create_next();
}

void arrivals::list_next(const std::string& queue, const std::string& base) {
  line& waiting = lines_[queue];
  if (waiting.listing) return;
  if (waiting.next.empty()) {
    lines_.erase(queue);
    return;
  }
  waiting.listing = true;
  std::vector<operation> steps{{.kind = operation_kind::list, .path = queue}};
  if (queue != base) steps.push_back({.kind = operation_kind::list, .path = base});
  nodes_.submit_all(std::move(steps), [this, queue, base, session = sessions_ended_,
                                       all = std::exchange(waiting.next, {})](std::vector<result> results) {
    on_listed_(all, std::move(results), session == sessions_ended_);
    if (session != sessions_ended_) return;
    lines_[queue].listing = false;
    list_next(queue, base);
  });
}

}  // namespace holdfast::zookeeper
