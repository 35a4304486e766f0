// SPDX-License-Identifier: Apache-2.0
#include "simulation/zookeeper/zookeeper_link.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "support/request_form.hpp"

namespace holdfast::sim {

using namespace std::chrono_literals;
using zookeeper::answer;
using zookeeper::operation;
using zookeeper::operation_kind;
using zookeeper::result;

namespace {

result unanswered(const operation& op, answer code) { return failed(op, code, "the connection is gone"); }

}  // namespace

zookeeper_link::zookeeper_link(ensemble& to, scene& in, host& from, line& over, options o)
    : to_{to},
      in_{in},
      from_{from},
      over_{over},
      options_{std::move(o)},
      bent_{options_.with, static_cast<wire&>(*this)},
      session_{from, bent_, options_.recipes},
      server_{in.chance.below(to.size())} {
  over_.on_cut([this] {
    if (!over_.is_up()) on_cut();
  });
  over_.on_connected([this] { say_hello(); });
}

zookeeper_link::~zookeeper_link() {
  over_.on_cut(nullptr);
  over_.on_connected(nullptr);
}

/// The servers know owners by their aliases.
template <class Request>
void zookeeper_link::give_alias(Request& r) {
  const auto alias_of = [this](const owner_id& owner) {
    const owner_id alias = options_.alias(owner);
    owners_.emplace(alias, owner);
    return alias;
  };
  if constexpr (requires { r.owner; }) r.owner = alias_of(r.owner);
  if constexpr (requires { r.holds; })
    for (store::hold& h : r.holds) h.owner = options_.alias(h.owner);
  if constexpr (requires { r.claim; }) {
    auto claim = std::make_shared<store::claim>(*r.claim);
    claim->owner = alias_of(claim->owner);
    r.claim = std::move(claim);
  }
}

void zookeeper_link::send(tickets::request request, on_reply done) {
  if (in_.log.prints()) {
    in_.log.line(in_.now, "client " + std::to_string(from_.number()) + " sends " +
                              test::name_of_task(request) + " " + std::string{name_of(request)} + " " +
                              test::form_of(request).owner.hex());
  }
  std::visit([this](auto& r) { give_alias(r); }, request);
  if (options_.with == mutant::disconnect_means_loss) {
    if (const auto* made = std::get_if<tickets::acquire>(&request)) to_be_lost_.insert(made->claim->owner);
    if (const auto* hold = std::get_if<tickets::release>(&request)) to_be_lost_.erase(hold->owner);
  }
  if (const auto* force = std::get_if<tickets::force_release>(&request);
      force != nullptr && on_force_release) {
    const std::size_t name = index_of(force->name);
    on_force_release(name, never);
    return session_.send(std::move(request), [this, name, done = std::move(done)](outcome o) {
      on_force_release(name, in_.now + 1s);
      done(std::move(o));
    });
  }
  session_.send(std::move(request), std::move(done));
}

void zookeeper_link::on_notifications(on_notification handler) {
  on_notification_ = std::move(handler);
  session_.on_notifications([this](const store::notification& n) { notify(n); });
}

void zookeeper_link::notify(store::notification n) {
  in_.note("notification", from_.number(), static_cast<std::uint64_t>(n.kind), n.token.value());
  n.owner = owners_.at(n.owner);
  if (observe_notification) observe_notification(n);
  on_notification_(n);
}

std::shared_ptr<void> zookeeper_link::watch(store::watched target, std::function<void()> changed) {
  session_.watch(target, std::move(changed));
  return nullptr;
}

std::optional<store::time_point> zookeeper_link::session_until() const {
  // What the mutant lacks: that nothing is granted, or kept, beyond the session.
  if (options_.with == mutant::session_not_checked) return std::nullopt;
  const auto until = session_.session_until();
  if (options_.with != mutant::reconnect_means_proof && options_.with != mutant::beat_means_proof)
    return until;
  return std::max(*until, taken_for_proof_ + timeout_ - timeout_ / 100 - 2ms);
}

// ---- sending

void zookeeper_link::submit(operation step, on_result done) {
  job j{std::move(step), std::move(done)};
  if (connected_) return start(std::move(j));
  queue_.push_back(std::move(j));
  if (down_) from_.hear_at(in_.now + 1ms, [this] { fail_queue(); });
}

void zookeeper_link::start(job j) {
  client_packet packet{j.step};
  j.sent = from_.now();
  unanswered_.push_back(std::move(j));
  last_said_ = in_.now;
  say(std::move(packet));
}

/// Numbered: of what was under way when a connection broke, the first may have arrived, and none after a gap.
void zookeeper_link::say(client_packet packet) {
  over_.to_server([this, at = server_, to = &to_, way = &over_, number = over_.connection(), nth = said_++,
                   packet = std::make_shared<client_packet>(std::move(packet))] {
    to->receive(at, *this, *way, {number, nth}, std::move(*packet));
  });
}

void zookeeper_link::flush() {
  for (job& j : std::exchange(queue_, {})) start(std::move(j));
}

void zookeeper_link::fail_queue() {
  if (!down_) return;
  for (const job& j : std::exchange(queue_, {})) j.done(unanswered(j.step, answer::not_sent));
}

// ---- connecting

void zookeeper_link::say_hello() {
  on_cut();  // of the connection before, if that has not been heard of
  in_use_ = true;
  said_ = 0;
  server_ = (server_ + 1) % to_.size();
  began_ = from_.now();
  hello h;
  h.session = id_;
  h.timeout = options_.timeout;
  h.last_seen = last_seen_;
  say(h);
  last_heard_ = in_.now;
  if (id_ == 0) timeout_ = options_.timeout;
  listen();
}

/// At least every third of the timeout the servers have to hear of it.
void zookeeper_link::ping_when_idle() {
  const instant due = std::max(in_.now, last_said_ + timeout_ / 3);
  from_.hear_at(due, [this, number = over_.connection()] {
    if (!connected_ || over_.connection() != number) return;
    if (in_.now >= last_said_ + timeout_ / 3) {
      last_said_ = in_.now;
      say(still_there{});
    }
    ping_when_idle();
  });
}

/// A connection on which nothing comes for so long is given up.
void zookeeper_link::listen() {
  if (listening_) return;
  listening_ = true;
  from_.hear_at(std::max(in_.now, last_heard_ + timeout_ * 2 / 3), [this, heard = last_heard_] {
    listening_ = false;
    if (!over_.is_up()) return;
    if (last_heard_ == heard) return over_.cut();
    listen();
  });
}

void zookeeper_link::on_cut() {
  if (!std::exchange(in_use_, false)) return;
  if (!std::exchange(connected_, false)) {
    if (std::exchange(begins_anew_, false)) return;
    if (++failures_ >= to_.size()) down_ = true;
    return fail_queue();
  }
  failures_ = 0;
  for (const owner_id& owner : std::exchange(to_be_lost_, {}))
    notify({owner, store::notification_kind::revoked, {}});
  session_.disconnected();
  for (const job& j : std::exchange(unanswered_, {})) j.done(unanswered(j.step, answer::unknown));
}

// ---- hearing

void zookeeper_link::hear(server_packet p) {
  last_heard_ = in_.now;
  if (std::holds_alternative<pong>(p.content)) return;
  if (const auto* w = std::get_if<welcome>(&p.content)) return let_in(*w);
  if (std::holds_alternative<session_is_over>(p.content)) return ended();
  if (const auto* h = std::get_if<happening>(&p.content)) return happened(*h);
  last_seen_ = std::max(last_seen_, p.last);  // nothing else tells it
  answered(std::move(std::get<result>(p.content)));
}

void zookeeper_link::let_in(const welcome& w) {
  id_ = w.session;
  timeout_ = w.timeout;
  down_ = false;
  failures_ = 0;
  in_.note("let in", from_.number(), static_cast<std::uint64_t>(id_));
  if (watches() != 0) {
    watches_again again;
    again.nodes.assign(watched_nodes_.begin(), watched_nodes_.end());
    again.lists.assign(watched_lists_.begin(), watched_lists_.end());
    again.last_seen = last_seen_;
    say(std::move(again));
  }
  if (options_.with == mutant::reconnect_means_proof) {
    taken_for_proof_ = began_;
    if (extended_) extended_();
  }
  bent_.in_session(id_);
  session_.connected(bent_.session(), timeout_, began_);  // what it sends goes after what waits already
  connected_ = true;
  flush();
  ping_when_idle();
}

/// The next connection begins a new session.
void zookeeper_link::ended() {
  in_.note("expired", from_.number(), static_cast<std::uint64_t>(id_));
  id_ = 0;
  last_seen_ = 0;
  watched_nodes_.clear();
  watched_lists_.clear();
  const auto of_the_former = std::exchange(queue_, {});
  if (options_.with != mutant::former_session_taken) session_.expired();
  for (const job& j : of_the_former) j.done(unanswered(j.step, answer::not_sent));
  begins_anew_ = true;
  over_.cut();
}

void zookeeper_link::answered(result r) {
  if (unanswered_.empty()) return in_.violated("an answer without a request");
  const job j = std::move(unanswered_.front());
  unanswered_.pop_front();
  if (in_.log.prints()) {
    in_.log.line(in_.now, "client " + std::to_string(from_.number()) + " has an answer to " +
                              std::to_string(static_cast<int>(j.step.kind)) + " " + j.step.path + ": " +
                              std::to_string(static_cast<int>(r.code)));
  }
  auto& watched = j.step.kind == operation_kind::list || j.step.children ? watched_lists_ : watched_nodes_;
  if (j.step.watch && r.code == answer::done) watched.insert(j.step.path);
  if (j.step.kind == operation_kind::unwatch) watched.erase(j.step.path);
  const bool is_beat = j.step.kind == operation_kind::sync && r.code == answer::done;
  if (options_.with == mutant::beat_means_proof && is_beat && id_ != 0) {
    taken_for_proof_ = std::max(taken_for_proof_, j.sent);
    if (extended_) extended_();
  }
  j.done(std::move(r));
}

void zookeeper_link::happened(const happening& h) {
  if (in_.log.prints()) {
    in_.log.line(in_.now, "client " + std::to_string(from_.number()) + " hears of a change at " + h.path);
  }
  if (h.event != zookeeper::change::children) watched_nodes_.erase(h.path);
  if (h.event != zookeeper::change::data) watched_lists_.erase(h.path);
  for (const std::string& path : bent_.notified_paths(h.path, h.event)) session_.happened(path, h.event);
}

}  // namespace holdfast::sim
