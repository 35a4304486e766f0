#include "runtime/multiplexed_connection.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <poll.h>

#include "holdfast/error.hpp"
#include "runtime/signals.hpp"

namespace holdfast::runtime {

multiplexed_connection::multiplexed_connection(event_loop& on, terms t)
    : loop_{on}, terms_{std::move(t)}, watchers_{on} {}

void multiplexed_connection::begin() {
  thread_ = quiet_thread([this] { work(); });
}

void multiplexed_connection::shut() {
  stopping_ = true;
  {
    const std::lock_guard hold{pause_mutex_};
  }
  paused_.notify_one();
  stop_.ring();
  baton_.ring();
  baton_.wake();
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<void> multiplexed_connection::watch(std::function<void()> changed) {
  if (watches_++ == 0) {
    tracked_ = true;
    track(true);
  }
  return {this, [this, inner = watchers_.add(std::move(changed))](void*) mutable {
            inner.reset();
            const core_lock now{loop_};
            if (--watches_ != 0) return;
            tracked_ = false;
            track(false);
          }};
}

failure multiplexed_connection::at_place(const failure& why) const {
  return {why.code, terms_.place + ": " + why.message};
}

// ---- callers

void multiplexed_connection::kick() {
  if (queued_ == 0) return;
  if (owed_count_ > terms_.many && baton_.is_taken()) return;  // who listens sends it next time
  flush();
  if ((urgent_ || queued_ != 0) && !baton_.is_taken()) baton_.wake();
}

void multiplexed_connection::help(store::caller& who) {
  if (owed_count_ <= terms_.many || !baton_.is_taken()) flush();
  baton_.serve(who, [this] { return connected_.load(); }, [&] { listen(&who); });
  if ((urgent_ || queued_ != 0) && !baton_.is_taken()) baton_.wake();
}

// ---- sending

void multiplexed_connection::enqueue(job_ptr j, bool urgent) {
  if (urgent) urgent_ = true;
  const std::lock_guard hold{queue_mutex_};
  queue_.push_back(std::move(j));
  queued_ = queue_.size();
}

void multiplexed_connection::flush() {
  if (queued_ == 0) return;
  std::optional<connection_error> down;
  {
    const std::lock_guard hold{wire_mutex_};
    if (connected_) return send_queue();
    down = down_;
  }
  if (down) fail_queue(*down);
}

void multiplexed_connection::send_queue() {
  if (down_) return;  // it is broken: the queue waits for the next
  const short waited_for = events();
  try {
    while (has_room(owed_.size()) && owe_next()) put_on_wire(*owed_.back());
    write_out();
  } catch (const connection_error& c) {
    down_ = c;
  } catch (const std::exception& e) {  // out of memory, and who knows how much of it has been said
    down_ = connection_error{{errc::exhausted, e.what()}};
  }
  // Who listens has to hear of that, or to wait for something else now.
  if (down_ || events() != waited_for) baton_.ring();
}

bool multiplexed_connection::owe_next() {
  const std::lock_guard hold{queue_mutex_};
  if (queue_.empty()) return false;
  owe(queue_.front());
  queue_.pop_front();
  queued_ = queue_.size();
  return true;
}

/// Where there is no memory for that, it stays where it is.
void multiplexed_connection::owe(job_ptr& j) {
  owed_.push_back(std::move(j));
  if (owed_.size() == 1) owed_since_ = clock::now();
  owed_count_ = owed_.size();
}

void multiplexed_connection::fail_queue(const connection_error& why) {
  const store::trouble no_answer{at_place(why.why), why.passing, false};
  std::deque<job_ptr> all;
  {
    const std::lock_guard hold{queue_mutex_};
    for (const job_ptr& j : queue_) j->fail(no_answer);  // here, since it may throw
    all.swap(queue_);
    queued_ = 0;
  }
  if (all.empty()) return;
  std::exception_ptr problem;  // somebody's, who was told; all others have to hear as well
  const core_lock now{loop_, true};
  for (const job_ptr& j : all) {
    try {
      j->tell();
    } catch (...) {
      problem = std::current_exception();
    }
  }
  if (problem) std::rethrow_exception(problem);
}

// ---- listening

void multiplexed_connection::listen(store::caller* who) {
  urgent_ = false;
  try {
    if (fresh_.exchange(false)) begin_to_hear();
    while (connected_ && !stopping_) {
      flush();
      if (who != nullptr ? who->is_served() : baton_.has_to_give_way()) return;
      wait_for_bytes(who);
    }
  } catch (const connection_error& c) {
    hang_up(c);
  } catch (const std::exception& e) {  // out of memory
    hang_up({{errc::exhausted, e.what()}});
  }
}

void multiplexed_connection::wait_for_bytes(store::caller* who) {
  const auto patience = check_health();
  std::array<pollfd, 2> fds{pollfd{-1, 0, 0}, pollfd{bell_.descriptor(), POLLIN, 0}};
  {
    const std::lock_guard hold{wire_mutex_};
    fds[0].fd = descriptor();
    fds[0].events = events();
  }
  if (who != nullptr && !who->begin_polling(bell_.descriptor())) return;
  const auto limit = std::chrono::ceil<std::chrono::milliseconds>(patience).count();
  const int ready = ::poll(fds.data(), fds.size(), static_cast<int>(limit));
  if (who != nullptr) who->end_polling();
  if (ready <= 0) return;
  if (fds[1].revents != 0) bell_.drain();
  if (fds[0].revents != 0) hear(fds[0].revents);
}

/// Asks a server that has been quiet for long whether it lives, and gives up one that owes an answer for too
/// long.
/// \return when to check again.
multiplexed_connection::clock::duration multiplexed_connection::check_health() {
  const std::lock_guard hold{wire_mutex_};
  if (down_) throw connection_error{*down_};
  const auto now = clock::now();
  if (owed_.empty() && now >= heard_ + terms_.quiet_limit) {
    job_ptr p = ping();
    owe(p);
    put_on_wire(*owed_.back());
    write_out();
  }
  // Others send meanwhile, and do not disturb who listens: it looks again before what they are owed is
  // overdue.
  if (owed_.empty()) {
    return std::min<clock::duration>(heard_ + terms_.quiet_limit - now, terms_.answer_limit / 2);
  }
  if (now < owed_since_ + terms_.answer_limit) return owed_since_ + terms_.answer_limit - now;
  throw connection_error{
      {errc::unavailable, "no answer within " + std::to_string(terms_.answer_limit.count()) + " ms"}};
}

void multiplexed_connection::take_first() {
  answered_.push_back(std::move(owed_.front()));
  owed_.pop_front();
  owed_count_ = owed_.size();
}

void multiplexed_connection::send_again(std::size_t which) {
  const std::lock_guard hold{wire_mutex_};
  owe(answered_[which]);
  put_on_wire(*owed_.back());
  write_out();
}

void multiplexed_connection::deliver(const words& all) {
  if (!answered_.empty() || !all.empty()) {
    const core_lock now{loop_, true};
    for (const job_ptr& j : answered_) {
      if (j) j->tell();
    }
    pass_on(all);
  }
  answered_.clear();
}

void multiplexed_connection::deliver_words(const words& all) {
  if (all.empty()) return;
  const core_lock now{
      loop_};  // with a kick: who delivers them need not drive this line, and they may cause requests
  pass_on(all);
}

void multiplexed_connection::pass_on(const words& all) {
  for (const auto& [owner, what] : all) told_(owner, what);
}

/// Whatever is not told by now is told that nobody knows.
void multiplexed_connection::hang_up(const connection_error& c) {
  const store::trouble no_answer{at_place(c.why), true, true};
  on_hang_up();
  {
    const std::lock_guard hold{wire_mutex_};
    while (!owed_.empty()) take_first();
    drop_wire();
    down_.reset();
    if (!c.planned) down_ = connection_error{c.why};
    connected_ = false;
  }
  for (const job_ptr& j : answered_) {
    if (j) j->fail(no_answer);
  }
  deliver({});
  baton_.wake();  // to connect anew
}

// ---- the line's own thread

void multiplexed_connection::work() {
  while (!stopping_) {
    if (!connected_) {
      // Not at once where the last connection was good for nothing.
      if (proved_.exchange(false)) {
        pause_.reset();
      } else {
        pause();
      }
      connect();
      continue;
    }
    baton_.rest();
    if (stopping_ || !connected_ || !baton_.take_in_background()) continue;
    listen(nullptr);
    baton_.leave();
  }
}

void multiplexed_connection::connect() {
  try {
    reconnect(stop_.descriptor());
    flush();
    missed_words();
  } catch (const connection_error& c) {
    give_up(c);
  } catch (const std::exception& e) {  // out of threads or memory
    give_up(connection_error{{errc::exhausted, e.what()}});
  }
}

/// Those of the time without a connection are not repeated.
void multiplexed_connection::missed_words() {
  if (std::exchange(had_connection_, true)) {
    const core_lock now{loop_};
    if (missed_) missed_();
  }
  if (tracked_) watchers_.ring();
}

/// For now. Who asks meanwhile hears why.
void multiplexed_connection::give_up(const connection_error& why) {
  {
    const std::lock_guard hold{wire_mutex_};
    down_ = why;
  }
  fail_queue(why);
}

void multiplexed_connection::pause() {
  duration how_long{};
  {
    const core_lock now{loop_, true};
    how_long = pause_.next(loop_.random());
  }
  std::unique_lock hold{pause_mutex_};
  paused_.wait_for(hold, how_long, [this] { return stopping_.load(); });
}

}  // namespace holdfast::runtime
