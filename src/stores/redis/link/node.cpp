// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/link/node.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <poll.h>
#include <utility>

#include "holdfast/error.hpp"
#include "stores/redis/protocol/keys.hpp"
#include "stores/redis/protocol/replies.hpp"
#include "stores/redis/protocol/resp.hpp"

namespace holdfast::redis {

namespace {

constexpr std::size_t buffer_size = std::size_t{64} * 1024;
/// While more replies than this are due, new requests wait for the reader, and are sent together.
constexpr std::size_t batch_above = 16;

bool is_push_of(const value& v, std::string_view kind) {
  return v.is(value::kind::push) && !v.items.empty() && v.items[0].text == kind;
}

std::optional<store::notification> notification_in(const value& push) {
  if (push.items.size() < 3 || (push.items[0].text != "message" && push.items[0].text != "smessage"))
    return std::nullopt;
  return read_notification(push.items[2].text);
}

/// A client that stood still reads of a grant and of its end at once. It must not begin what has ended.
void put_ends_first(std::vector<store::notification>& all) {
  const auto is_end = [](const store::notification& n) {
    return n.kind == store::notification_kind::revoked;
  };
  if (std::none_of(all.begin(), all.end(), is_end)) return;
  std::vector<store::notification> sorted;
  std::copy_if(all.begin(), all.end(), std::back_inserter(sorted), is_end);
  std::remove_copy_if(all.begin(), all.end(), std::back_inserter(sorted), is_end);
  all = std::move(sorted);
}

}  // namespace

node::node(runtime::event_loop& loop, runtime::connection_reader& reader, const settings& of,
           server_address at, std::string place, const owner_id& client, parent& link)
    : loop_{loop},
      settings_{of},
      at_{std::move(at)},
      client_{client},
      parent_{link},
      buffer_(buffer_size),
      connection_{loop, reader, *this, {std::move(place), of.answer_limit, of.quiet_limit, batch_above}},
      tracking_{loop,
                of.speech.prefix,
                {[this] { return is_connected(); },
                 [this](std::unique_ptr<pending_command> c) {
                   connection_.push(std::move(c), false);
                   parent_.on_queued(*this);
                 },
                 [this](const changes& changed) { parent_.on_changes(changed); },
                 [this] { parent_.on_misplaced(); }}} {}

void node::stop() {
  connection_.stop();
  stop_tracking();
}

void node::close(const connection_error& reason) {
  connection_.close(reason);
  stop_tracking();
}

void node::stop_tracking() {
  const runtime::core_lock now{loop_, true};
  tracking_.stop();
}

std::unique_ptr<pending_command> node::ping() const {
  auto c = std::make_unique<pending_command>();
  c->is_ping = true;
  append(c->command, {"PING"});
  return c;
}

// ---- connecting

std::unique_ptr<wire> node::connect(int stop) {
  try {
    redis::connection made = parent_.connect(*this, stop);
    former_.clear();
    early_ = std::move(made.early);
    return std::make_unique<wire>(std::move(made), settings_.tls.on, settings_.speech, marker_);
  } catch (const parser::garbage& g) {
    parent_.on_unreachable(*this);
    throw connection_error{
        {errc::corrupt_store, std::string{"what answers there is no Redis server: "} + g.what()}, false};
  } catch (...) {
    parent_.on_unreachable(*this);
    throw;
  }
}

void node::on_connected() {
  notifications received;
  for (const value& push : std::exchange(early_, {}))
    if (const auto n = notification_in(push)) received.push_back(*n);
  if (!received.empty()) {
    put_ends_first(received);
    // With a kick: this thread need not drive the connection, and notifications may cause requests.
    const runtime::core_lock now{loop_};
    parent_.on_received(received);
  }
  parent_.on_connected(*this, std::exchange(was_connected_, true));
  const runtime::core_lock now{loop_};
  tracking_.connected();
}

void node::on_disconnect() {
  wire& former = connection_.wire();
  former_ = former.take_kill_command();
  known_marker_ = former.guard().marker();
  parent_.on_unreachable(*this);
}

// ---- reading

void node::read(short ready) {
  if ((ready & POLLOUT) != 0) connection_.lock()->write_out();
  read_all();
}

void node::read_all() {
  try {
    messages_.clear();
    connection_.wire().read(buffer_, messages_);
    handle_messages();
  } catch (const parser::garbage& g) {
    throw connection_error{
        {errc::corrupt_store, std::string{"what the server sends is no RESP3: "} + g.what()}};
  }
}

void node::handle_messages() {
  const received all = match_messages();
  const bool demoted = interpret_replies();
  const bool missed = forget_channels(all.other_pushes);
  deliver(all.notifications, missed);
  if (const changes of = changes_in(all.other_pushes); !of.empty()) {
    const runtime::core_lock now{loop_};
    tracking_.invalidated(of);
  }
  if (all.surplus) throw parser::garbage{"an answer without a request"};
  // After a failover the host's name or the Sentinels may lead to another server, but this connection does
  // not.
  if (demoted) {
    throw connection_error{
        {errc::unavailable, "the server is a read-only replica (READONLY)" + parent_.advice_on_replica()}};
  }
}

/// Gives each reply to the first request in flight, and sorts the pushes. A subscription is answered by a
/// push.
node::received node::match_messages() {
  received all;
  auto line = connection_.lock();
  line.heard();
  const bool grants = !line->may_be_outdated() && !line->guard().pause_now();
  const std::uint64_t connection = grants ? line->number() : 0;
  for (value& m : messages_) {
    ++message_count_;
    if (m.is(value::kind::push) && !is_push_of(m, "ssubscribe")) {
      if (auto n = notification_in(m)) {
        n->position = {connection, message_count_};
        all.notifications.push_back(*n);
      } else {
        all.other_pushes.push_back(std::move(m));
      }
      continue;
    }
    pending_command* const first = line.first_in_flight();
    if (first == nullptr) {
      all.surplus = true;
      break;
    }
    first->replied_at = message_count_;
    first->replies.push_back(std::move(m));
    if (first->replies.size() >= first->replies_due) line.finish_first();
  }
  put_ends_first(all.notifications);
  return all;
}

/// Sets the outcomes of completed requests, and queues requests again that need more commands.
/// \return whether a reply says that the server is a replica.
bool node::interpret_replies() {
  bool demoted = false;
  for (std::size_t i = 0; i < connection_.completed().size();) {
    pending_command& c = *connection_.completed()[i];
    if (c.fsm && c.is_asking) c.replies.erase(c.replies.begin());
    const value& first = c.replies[0];
    const bool refused = first.is(value::kind::error);
    if (!refused) connection_.on_success();
    if (c.is_ping) hear_ping(first);
    if (c.fsm) {
      demoted = demoted || std::any_of(c.replies.begin(), c.replies.end(), is_from_replica);
      c.outcome = c.fsm->hear(std::exchange(c.replies, {}));
      // A client that stood still sends nothing before the server has answered a ping: see wire::depth.
      if (!c.outcome) c.outcome = c.fsm->give_up(loop_.now(), connection_.lock()->depth() == 0);
      if (!c.outcome) {
        connection_.restart(i);
        continue;
      }
      if (auto* const at = tickets::reply_in<tickets::place>(*c.outcome))
        at->position = {connection_.wire().number(), c.replied_at};
      if (grants(*c.outcome) && connection_.wire().may_be_outdated(c)) {
        c.outcome = store::request_error{
            {errc::unavailable, "the server granted the lock late, and may not be the primary any more"},
            true,
            true};
      }
    }
    ++i;
  }
  return demoted;
}

void node::hear_ping(const value& reply) {
  const auto elsewhere = reply.is(value::kind::error) ? redirection_in(reply.text) : std::nullopt;
  const bool moved = elsewhere && parent_.on_marker_moved(*this, *elsewhere);
  connection_.lock()->hear_ping(reply, moved);
}

/// Runs the handlers of completed requests, and passes notifications on.
void node::deliver(const notifications& received, bool missed) {
  if (connection_.completed().empty() && received.empty() && !missed) return;
  {
    const runtime::core_lock now{loop_, true};
    connection_.run_handlers();
    if (!received.empty()) parent_.on_received(received);
    if (missed) parent_.on_channel_end();
  }
  connection_.forget_completed();
}

/// A server ends the subscriptions of a slot that it does not have any more. \return whether it has.
bool node::forget_channels(const std::vector<value>& pushes) {
  bool missed = false;
  for (const value& p : pushes) {
    if (!is_push_of(p, "sunsubscribe") || p.items.size() < 2) continue;
    if (shard_channels* const channels = connection_.wire().channels())
      channels->remove(slot_of(p.items[1].text));
    missed = true;
  }
  return missed;
}

/// Without a list of keys, everything was flushed.
changes node::changes_in(const std::vector<value>& pushes) const {
  changes all;
  const std::string& prefix = settings_.speech.prefix;
  for (const value& p : pushes) {
    if (p.items.size() < 2 || p.items[0].text != "invalidate") continue;
    if (!p.items[1].is(value::kind::list)) all.anything = true;
    for (const value& key : p.items[1].items) {
      const std::string lock = lock_of_side_key(key.text).value_or(key.text);
      // The marker of the guard has the same length.
      if (lock.starts_with(prefix) && lock.size() > prefix.size())
        all.names.push_back(lock.substr(prefix.size()));
    }
  }
  return all;
}

}  // namespace holdfast::redis
