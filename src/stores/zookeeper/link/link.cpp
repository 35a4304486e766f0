// SPDX-License-Identifier: Apache-2.0
#include "stores/zookeeper/link/link.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <poll.h>
#include <utility>

#include "holdfast/error.hpp"
#include "runtime/io_deadline.hpp"
#include "runtime/signals.hpp"
#include "stores/zookeeper/link/names.hpp"

namespace holdfast::zookeeper {

namespace {

using namespace std::chrono_literals;

/// After so long without an answer of any server, names are looked up again: the ensemble may have moved.
constexpr auto names_hold = 10s;

}  // namespace

link::link(runtime::event_loop& on, settings s)
    : loop_{on},
      settings_{std::move(s)},
      session_{on, *this, settings_.recipes},
      watchers_{on, [this](const store::watched& target, bool is_watched) { track(target, is_watched); }},
      lost_{clock::now()} {
  thread_ = runtime::quiet_thread([this] { work(); });
}

link::~link() { shut(); }

void link::shut() {
  stopping_ = true;
  {
    const annotated::lock held{pause_mutex_};
    if (lookup_) lookup_->cancel();
  }
  paused_.notify_one();
  baton_.ring();
  baton_.wake();
  if (thread_.joinable()) thread_.join();
}

void link::send(tickets::request request, on_reply handler) {
  loop_.assert_core_locked();
  sending_ = handler.request;
  session_.send(request, handler);
  sending_ = 0;
}

/// What it has sent already is answered by the servers, or unknown: the protocol sees which steps were not.
void link::take_back(std::uint64_t request) {
  std::vector<job> unsent;
  {
    const annotated::lock held{queue_mutex_};
    const auto is_of_it = [&](const job& each) { return each.step.request == request; };
    std::copy_if(queue_.begin(), queue_.end(), std::back_inserter(unsent), is_of_it);
    std::erase_if(queue_, is_of_it);
    queued_ = queue_.size();
  }
  if (!unsent.empty()) answer_unsent(unsent, reason_to_wait());
}

/// Why what is queued is not sent yet.
failure link::reason_to_wait() {
  const annotated::lock held{handle_mutex_};
  if (down_) return *down_;
  if (is_connected()) return {errc::unavailable, settings_.place() + ": the request was not sent in time"};
  const auto passed = std::chrono::round<std::chrono::milliseconds>(clock::now() - lost_);
  return {errc::unavailable,
          settings_.place() + ": no connection within " + std::to_string(passed.count()) + " ms"};
}

std::optional<store::time_point> link::session_until() const {
  loop_.assert_core_locked();
  return session_.session_until();
}

void link::on_notifications(on_notification handler) {
  loop_.assert_core_locked();
  session_.on_notifications(std::move(handler));
}

void link::on_session(const std::function<void()>& extended) {
  loop_.assert_core_locked();
  session_.on_session(extended);
}

std::shared_ptr<void> link::watch(store::watched target, std::function<void()> changed) {
  loop_.assert_core_locked();
  return watchers_.add(target, std::move(changed));
}

void link::when_delivered(std::function<void()> action) {
  loop_.assert_core_locked();
  session_.when_delivered(std::move(action));
}

void link::track(const store::watched& target, bool on) {
  loop_.assert_core_locked();
  session_.watch(target, on ? [this, target] { watchers_.ring_only(target); } : std::function<void()>{});
}

// ---- sending

void link::submit(operation step, on_result handler) {
  if (step.kind != operation_kind::remove) urgent_ = true;
  loop_.assert_core_locked();
  if (step.request == 0) step.request = sending_;
  const annotated::lock held{queue_mutex_};
  queue_.push_back({std::move(step), std::move(handler)});
  queued_ = queue_.size();
}

std::vector<link::job> link::take_queue() {
  const annotated::lock held{queue_mutex_};
  queued_ = 0;
  return std::exchange(queue_, {});
}

void link::kick() {
  if (queued_ == 0) return;
  flush();
  if (urgent_ && !baton_.is_taken()) baton_.wake();
}

bool link::drive() {
  flush();
  return false;
}

void link::flush() {
  if (queued_ == 0) return;
  bool failed = false;
  bool cut = false;
  {
    const annotated::lock held{handle_mutex_};
    if (is_connected()) {
      for (job& j : take_queue()) handle_->start(j.step, std::move(j.handler));
      failed = handle_->has_news();
      cut = handle_->is_cut();
    } else if (!down_) {
      return;  // it waits for the connection
    }
  }
  if (failed) deliver();
  if (!is_connected()) fail_queue();
  if (cut) {  // wakes the reader, or else the link's own thread
    baton_.ring();
    baton_.wake();
  }
}

/// Fails requests that were sent without a connection.
void link::fail_queue() {
  failure reason;
  {
    const annotated::lock held{handle_mutex_};
    if (!down_) return;
    reason = *down_;
  }
  // Two threads may fail requests: those that were taken first have to be answered first.
  annotated::lock in_order{news_mutex_};
  const std::vector<job> jobs = take_queue();
  if (jobs.empty()) return;
  const runtime::core_lock now{loop_, true};
  answer_unsent(jobs, reason);
  in_order.unlock();  // before the release of the core lock, which may send
}

void link::answer_unsent(const std::vector<job>& jobs, const failure& reason) {
  for (const job& j : jobs) {
    result r;
    r.code = answer::not_sent;
    r.path = j.step.path;
    r.reason = reason;
    j.handler(std::move(r));
  }
}

void link::help(store::caller& caller) {
  flush();
  baton_.serve(caller, [this] { return is_connected(); }, [&] { listen(&caller); });
  if ((queued_ != 0 || urgent_ || caller.is_dismissed()) && !baton_.is_taken()) baton_.wake();
}

// ---- listening

void link::listen(store::caller* caller) {
  urgent_ = false;
  while (!stopping_ && !is_over()) {
    flush();
    deliver();
    if (caller != nullptr ? caller->is_served() || !is_connected() : baton_.has_to_give_way()) return;
    wait_for_bytes(caller);
  }
}

void link::wait_for_bytes(store::caller* caller) {
  handle::interest wanted;
  {
    const annotated::lock held{handle_mutex_};
    wanted = handle_->wants();
  }
  deliver();
  if (is_over() || stopping_) return;
  if (caller != nullptr && !is_connected()) return;  // callers do not connect
  if (caller == nullptr && !is_connected()) stay_or_give_up();
  flush();
  if (caller != nullptr && !caller->begin_polling(wakeup_.descriptor())) return;
  std::array<pollfd, 2> fds{pollfd{wakeup_.descriptor(), POLLIN, 0},
                            pollfd{wanted.descriptor, wanted.events, 0}};
  // With no descriptor it is a pause between two rounds of connecting.
  const nfds_t count = wanted.descriptor < 0 ? 1 : 2;
  if (count == 1) wanted.patience = spread(wanted.patience, chance_());
  ::poll(fds.data(), count, static_cast<int>(wanted.patience.count()) + 1);
  if (caller != nullptr) caller->end_polling();
  if (fds[0].revents != 0) wakeup_.drain();
  if (fds[1].revents != 0) {
    const annotated::lock held{handle_mutex_};
    handle_->go_on(fds[1].revents);
  }
  deliver();
}

/// Delivers messages of the servers, under one core lock.
void link::deliver() {
  annotated::lock in_order{news_mutex_};
  std::vector<handle::news> news;
  bool lost = false;
  {
    const annotated::lock held{handle_mutex_};
    if (handle_ && handle_->has_news()) news = handle_->take_news();
    for (const handle::news& each : news) {
      if (const auto* made = std::get_if<handle::connected>(&each)) {
        state_ = state::connected;
        timeout_ = made->timeout;
        down_.reset();
      } else if (std::holds_alternative<handle::disconnected>(each)) {
        lost = true;
        state_ = state::connecting;
        lost_ = clock::now();
      } else if (const auto* end = std::get_if<handle::over>(&each)) {
        lost = true;
        state_ = state::over;
        lost_ = clock::now();
        if (end->refusal)
          down_ = failure{end->refusal->code, settings_.place() + ": " + end->refusal->message};
      }
    }
  }
  // A caller that read has lost the connection. Only the link's own thread connects again, and it may be
  // asleep.
  if (lost) baton_.wake();
  if (news.empty() || stopping_) return;
  const runtime::core_lock now{loop_, true};
  for (handle::news& each : news) pass_on(each);
  in_order.unlock();  // before the release of the core lock, which may send
}

void link::pass_on(handle::news& news) {
  if (auto* const a = std::get_if<handle::answered>(&news)) {
    a->handler(std::move(a->result));
  } else if (const auto* const h = std::get_if<handle::happening>(&news)) {
    session_.happened(h->path, h->change);
  } else if (const auto* const c = std::get_if<handle::connected>(&news)) {
    reported_ = true;  // the C client connects again by itself, and then tells a second connection
    loop_.journal().count(events::counter::connects);
    loop_.journal().tell(event_kind::connected, [this](event& e) { e.text = settings_.place(); });
    session_.connected(c->id, c->timeout, c->began);
  } else if (std::holds_alternative<handle::disconnected>(news)) {
    report_disconnected("the connection has ended");
    session_.disconnected();
  } else if (const auto* const end = std::get_if<handle::over>(&news)) {
    report_disconnected(end->refusal ? end->refusal->message : "the session has ended");
    end_session();
  }
}

/// Drops queued requests of the session that has ended: in the next session they would create nodes without
/// an owner.
void link::end_session() {
  const std::vector<job> late = take_queue();
  session_.expired();
  answer_unsent(late, {errc::unavailable, settings_.place() + ": the session has ended"});
}

void link::report_disconnected(const std::string& reason) {
  if (std::exchange(reported_, false))
    report(events::counter::disconnects, event_kind::disconnected,
           {errc::unavailable, settings_.place() + ": " + reason});
}

/// Tells the journal of the client.
void link::report(events::counter which, event_kind kind, const failure& reason) noexcept {
  loop_.journal().count(which);
  loop_.journal().tell(kind, [&](event& e) {
    e.code = reason.code;
    e.text = reason.message;
  });
}

// ---- the link's own thread

void link::work() {
  while (!stopping_) {
    if (is_connected()) baton_.rest();
    if (stopping_) break;
    // Without a connection no caller reads.
    if (!baton_.take_in_background(!is_connected())) {
      if (!is_connected()) pause(1ms);  // the caller that has just lost it is about to leave
      continue;
    }
    if (is_over()) open();
    if (!is_over()) listen(nullptr);
    baton_.leave();
  }
  // Ends the session at the servers, so that no client waits for its nodes.
  const annotated::lock held{handle_mutex_};
  state_ = state::over;
  handle_.reset();
}

/// Begins a session.
void link::open() {
  std::unique_ptr<handle> former;
  bool refused = false;
  {
    const annotated::lock held{handle_mutex_};
    refused = handle_ && down_;
    former = std::move(handle_);
  }
  former.reset();
  fail_queue();
  if (refused) pause(1000ms);  // the servers would refuse it again
  const name_lookup::outcome found = look_up();
  const auto* const unknown = std::get_if<failure>(&found);
  if (unknown != nullptr) return no_session(*unknown);
  try {
    const auto& at = std::get<addresses>(found);
    auto made = std::make_unique<handle>(settings_, at);
    const annotated::lock held{handle_mutex_};
    handle_ = std::move(made);
    resolved_ = lost_ = clock::now();
    timeout_ = {};
    state_ = state::connecting;
  } catch (const runtime::connection_error& c) {
    no_session(c.reason);
  }
}

void link::no_session(const failure& reason) {
  {
    const annotated::lock held{handle_mutex_};
    down_ = failure{reason.code, settings_.place() + ": " + reason.message};
    report(events::counter::connect_failures, event_kind::connect_failed, *down_);
  }
  fail_queue();
  pause(500ms);
}

name_lookup::outcome link::look_up() {
  std::shared_ptr<name_lookup> lookup;
  try {
    const annotated::lock held{pause_mutex_};
    lookup = lookup_ = name_lookup::begin(settings_.servers);
    if (stopping_) lookup_->cancel();
  } catch (const error& e) {  // the system has no thread for it
    return failure{e.code(), e.detail()};
  }
  return lookup->wait(settings_.connect_limit);
}

/// Without a connection, requests fail with the reason as soon as every server was tried, or the limit has
/// passed.
void link::stay_or_give_up() {
  const auto now = clock::now();
  {
    const annotated::lock held{handle_mutex_};
    // By now the servers have ended the session, if they are the same servers. Servers that have lost their
    // data would never accept it: only a new session can go on.
    if (timeout_.count() > 0 && now >= lost_ + 2 * timeout_) handle_->give_up();
    if (handle_->has_tried_all() || now >= lost_ + settings_.connect_limit) {
      const bool is_new = !down_;
      const std::string& reason = handle_->last_problem();
      down_ = failure{errc::unavailable, settings_.place() + ": no server can be connected to" +
                                             (reason.empty() ? "" : " (" + reason + ")")};
      if (is_new) report(events::counter::connect_failures, event_kind::connect_failed, *down_);
    }
  }
  fail_queue();
  deliver();
  if (is_over() || now < resolved_ + names_hold) return;
  const name_lookup::outcome found = look_up();
  resolved_ = clock::now();
  const auto* at = std::get_if<addresses>(&found);
  if (at == nullptr) return;  // the known addresses stay in use
  const annotated::lock held{handle_mutex_};
  handle_->move_to(*at);
}

void link::pause(std::chrono::milliseconds length) {
  const auto end = clock::now() + length;
  const annotated::lock held{pause_mutex_};
  while (!stopping_ && paused_.wait_until(pause_mutex_, end) == std::cv_status::no_timeout) {
  }
}

}  // namespace holdfast::zookeeper
