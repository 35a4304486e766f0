// SPDX-License-Identifier: Apache-2.0
#include "runtime/connection_reader.hpp"

#include <algorithm>
#include <utility>

#include "holdfast/error.hpp"
#include "runtime/signals.hpp"

namespace holdfast::runtime {

void connection_reader::add(readable_connection& connection) {
  const annotated::lock held{mutex_};
  if (threads_.size() == count(state::connecting)) add_thread();
  member& added = members_.emplace_front();
  added.connection = &connection;
  ++counts_[static_cast<std::size_t>(added.now)];
  members_changed_ = true;
  wake_background();
}

void connection_reader::remove(readable_connection& connection) noexcept {
  annotated::lock held{mutex_};
  const auto found = find(connection);
  if (found == members_.end()) return;
  found->is_leaving = true;
  connection.stop_connecting();
  while (found->now == state::connecting) changed_.wait(mutex_);
  change(*found, state::removed);
  members_changed_ = true;
  if (reading_thread_ != std::this_thread::get_id()) {
    held.unlock();
    wakeup_.ring();
    // Before others: without a connection they cannot read, and would not let this one do so.
    baton_.serve(found->removal, [] { return true; }, [this] { refresh(); }, true);
    held.relock();
  }
  members_.erase(found);
  --counts_[static_cast<std::size_t>(state::removed)];
}

void connection_reader::stop() {
  const annotated::lock held{mutex_};
  stopping_ = true;
  for (const member& m : members_) m.connection->stop_connecting();
  wake_background();
  while (!threads_.empty()) changed_.wait(mutex_);
  join_ended();
}

void connection_reader::on_disconnected(readable_connection& connection) noexcept {
  const annotated::lock held{mutex_};
  const auto found = find(connection);
  // The thread that has just connected it finds out by itself.
  if (found == members_.end() || found->now != state::connected) return;
  change(*found, state::to_connect);
  members_.splice(members_.begin(), members_, found);
  baton_.wake();
  changed_.notify_all();
}

// ---- background threads

void connection_reader::work() noexcept {
  const annotated::lock held{mutex_};
  while (!stopping_) {
    const auto next = std::find_if(members_.begin(), members_.end(),
                                   [](const member& m) { return m.now == state::to_connect; });
    if (next != members_.end() && may_connect()) {
      connect(*next);
    } else if (has_background_) {
      break;
    } else {
      read_in_background();
    }
  }
  const auto own = std::find_if(threads_.begin(), threads_.end(), [](const std::thread& t) {
    return t.get_id() == std::this_thread::get_id();
  });
  ended_.splice(ended_.end(), threads_, own);
  changed_.notify_all();
}

void connection_reader::connect(member& next) {
  change(next, state::connecting);
  const bool is_last = threads_.size() == count(state::connecting);
  if (is_last && (count(state::connected) != 0 || count(state::to_connect) != 0)) {
    try {
      add_thread();
    } catch (const error&) {
      // Out of threads: this one goes on with the others when it has connected.
    }
  }
  mutex_.unlock();
  next.connection->connect();
  mutex_.lock();
  if (next.is_leaving) {
    change(next, state::removed);
  } else {
    change(next, next.connection->is_connected() ? state::connected : state::to_connect);
    // Behind those that have had no turn yet.
    members_.splice(members_.end(), members_, find(*next.connection));
  }
  changed_.notify_all();
  // A thread that reads does not wait for this connection yet. That may be the thread that has just
  // disconnected it: it has seen that there is nothing to wait for, and sees no more that there was no
  // connection. Where nobody reads, a caller that was called while there was no connection waits without a
  // turn, and the background may be resting for its sake.
  wakeup_.ring();
  baton_.wake();
}

/// One turn of the background thread, without the mutex but where there is nothing to read.
void connection_reader::read_in_background() {
  has_background_ = true;
  if (count(state::connected) == 0) {
    changed_.wait(mutex_);
  } else {
    mutex_.unlock();
    baton_.rest();
    if (!stopping_ && !may_connect() && baton_.take_in_background()) {
      read_until_served(nullptr);
      baton_.leave();
    }
    mutex_.lock();
  }
  has_background_ = false;
}

/// With the mutex held, so that the thread finds itself among the others when it ends.
void connection_reader::add_thread() {
  join_ended();
  threads_.push_back(quiet_thread([this] { work(); }));
}

/// An ended thread has let go of the mutex, which the caller holds, and does not take it again.
void connection_reader::join_ended() {
  for (std::thread& t : ended_) t.join();
  ended_.clear();
}

/// Whatever it waits for.
void connection_reader::wake_background() {
  changed_.notify_all();
  baton_.wake();
  wakeup_.ring();
}

// ---- reading

void connection_reader::serve(store::caller& caller) {
  baton_.serve(
      caller, [this] { return count(state::connected) != 0 && !stopping_; },
      [&] { read_until_served(&caller); });
  ensure_reading(caller.is_dismissed());
}

void connection_reader::read_until_served(store::caller* caller) noexcept {
  baton_.assert_taken();
  reading_thread_ = std::this_thread::get_id();
  while (!stopping_ && count(state::connected) != 0) {
    if (members_changed_) refresh();
    for (readable_connection* const each : connections_) {
      if (members_changed_) break;
      each->prepare();
    }
    if (has_to_return(caller)) break;
    wait_for_bytes(caller);
  }
  reading_thread_ = std::thread::id{};
}

void connection_reader::refresh() {
  baton_.assert_taken();
  const annotated::lock held{mutex_};
  members_changed_ = false;
  connections_.clear();
  for (member& m : members_) {
    if (m.now == state::removed) {
      m.removal.serve();
    } else {
      connections_.push_back(m.connection);
    }
  }
}

void connection_reader::wait_for_bytes(store::caller* caller) {
  std::chrono::steady_clock::duration patience = readable_connection::interest{}.patience;
  descriptors_.clear();
  descriptors_.push_back({wakeup_.descriptor(), POLLIN, 0});
  for (readable_connection* const each : connections_) {
    if (members_changed_) return;
    const readable_connection::interest wanted = each->check();
    descriptors_.push_back({wanted.descriptor, wanted.events, 0});
    patience = std::min(patience, wanted.patience);
  }
  // One of them may have broken just now.
  if (count(state::connected) == 0 || has_to_return(caller)) return;
  if (caller != nullptr && !caller->begin_polling(wakeup_.descriptor())) return;
  const auto limit = std::chrono::ceil<std::chrono::milliseconds>(patience).count();
  const int ready = ::poll(descriptors_.data(), descriptors_.size(), static_cast<int>(limit));
  if (caller != nullptr) caller->end_polling();
  if (ready <= 0) return;
  if (descriptors_[0].revents != 0) wakeup_.drain();
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    if (members_changed_) return;
    if (descriptors_[i + 1].revents != 0) connections_[i]->read(descriptors_[i + 1].revents);
  }
}

// ---- members

connection_reader::members::iterator connection_reader::find(const readable_connection& connection) {
  return std::find_if(members_.begin(), members_.end(),
                      [&](const member& m) { return m.connection == &connection; });
}

void connection_reader::change(member& m, state next) {
  --counts_[static_cast<std::size_t>(m.now)];
  ++counts_[static_cast<std::size_t>(next)];
  m.now = next;
}

}  // namespace holdfast::runtime
