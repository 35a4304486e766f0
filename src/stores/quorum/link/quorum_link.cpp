// SPDX-License-Identifier: Apache-2.0
#include "stores/quorum/link/quorum_link.hpp"

#include <optional>
#include <utility>

#include "runtime/event_loop.hpp"
#include "stores/redis/link/connection.hpp"
#include "stores/redis/protocol/keys.hpp"
#include "stores/redis/protocol/quorum_scripts.hpp"
#include "stores/redis/protocol/resp.hpp"

namespace holdfast::quorum {

namespace {

std::vector<std::string> places_of(const std::vector<redis::server_address>& all) {
  std::vector<std::string> places;
  places.reserve(all.size());
  for (const redis::server_address& each : all) places.push_back(each.place());
  return places;
}

}  // namespace

class quorum_link::server final : private redis::node::parent {
 public:
  server(quorum_link& in, std::size_t index, const redis::server_address& at)
      : in_{in},
        index_{index},
        node_{std::make_shared<redis::node>(in.loop(), in.reader(), in.settings_, at, at.place(), in.client_,
                                            static_cast<redis::node::parent&>(*this))} {}
  ~server() = default;
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  [[nodiscard]] const std::shared_ptr<redis::node>& node() const { return node_; }
  /// See transport::join. Under the core lock.
  void join(const std::string& set) {
    auto c = std::make_unique<redis::pending_command>();
    const std::string key = redis::quorum_key(in_.settings_.speech.prefix);
    redis::append(c->command, {"SET", key, set, "NX"});
    redis::append(c->command, {"GET", key});
    c->replies_due = 2;
    const redis::pending_command& command = *c;
    c->on_answer = [this, &command](const redis::value* kept) {
      // Where the connection broke between them, the last reply is that of the first command.
      if (kept == nullptr || command.problem || command.replies.size() < command.replies_due)
        return in_.coordinator_.not_joined(index_);
      const bool wrote = command.replies.front().is(redis::value::kind::text);
      auto refusal = in_.coordinator_.joined(index_, redis::description_of(*kept, run_), wrote);
      if (refusal) node_->reconnect({std::move(*refusal), false});
    };
    push(std::move(c));
  }
  /// See transport::leave. Under the core lock.
  void leave(const std::string& set) {
    auto c = std::make_unique<redis::pending_command>();
    redis::append(c->command, {"EVAL", redis::quorum_text::leave_set, "1",
                               redis::quorum_key(in_.settings_.speech.prefix), set});
    c->on_answer = [](const redis::value*) {};  // an operator can delete it as well
    push(std::move(c));
  }

 private:
  [[nodiscard]] redis::connection connect(redis::node& to, int stop) override {
    redis::connection made = dial(in_.settings_, to.at(), in_.secure_.get(),
                                  redis::io_deadline{in_.settings_.connect_limit, stop}, to.wishes());
    const runtime::core_lock now{in_.loop()};
    run_ = made.quorum.run;
    if (auto refusal = in_.coordinator_.on_hello(index_, made.quorum))
      throw runtime::connection_error{std::move(*refusal), false};
    return made;
  }
  void push(std::unique_ptr<redis::pending_command> c) {
    node_->push(std::move(c));
    on_queued(*node_);
  }
  /// The server does not repeat the notifications of the time without a connection.
  void on_connected(redis::node& /*to*/, bool again) override {
    const runtime::core_lock now{in_.loop()};
    in_.coordinator_.connected(index_);
    if (again) in_.report_gap();
  }
  void on_unreachable(redis::node& /*server*/) override {
    const runtime::core_lock now{in_.loop()};
    in_.coordinator_.on_unreachable(index_);
  }
  void on_received(const notifications& received) override {
    for (const store::notification& each : received) in_.coordinator_.on_notification(index_, each);
    in_.kick_soon();
  }
  void on_changes(const redis::changes& of) override { ring_for(of, in_.watchers()); }
  void on_queued(redis::node& /*at*/) override {
    in_.add_unflushed(node_);
    in_.kick_soon();
  }
  [[nodiscard]] std::string place() const override { return node_->at().place(); }

  quorum_link& in_;
  const std::size_t index_;
  const std::shared_ptr<redis::node> node_;
  std::string run_;  // of the server's process; under the core lock
};

quorum_link::quorum_link(runtime::event_loop& loop, redis::settings s)
    : node_link{loop, std::move(s)},
      coordinator_{loop,
                   {.places = places_of(settings_.quorum),
                    .silence = settings_.node_timeout,
                    .oldest = settings_.speech.oldest_number(),
                    .furthest = redis::dialect::furthest_number,
                    .connecting = settings_.connect_limit},
                   *this} {
  for (std::size_t i = 0; i < settings_.quorum.size(); ++i)
    servers_.push_back(std::make_unique<server>(*this, i, settings_.quorum[i]));
  try {
    for (const auto& each : servers_) each->node()->start();
  } catch (...) {
    shut();
    throw;
  }
}

quorum_link::~quorum_link() { shut(); }

void quorum_link::shut() {
  {
    const runtime::core_lock now{loop(), true};
    coordinator_.stop();
  }
  for (const auto& each : servers_) each->node()->stop();
  reader().stop();
}

void quorum_link::send(tickets::request request, on_reply handler) {
  if (refuses(request, handler)) return;
  if (!tickets::is_release(request)) handler = awaiting(std::move(handler));
  is_called_ = true;
  coordinator_.send(std::move(request), std::move(handler));
  is_called_ = false;
}

void quorum_link::take_back(std::uint64_t request) {
  coordinator_.take_back(request);
  for (const auto& each : servers_) each->node()->take_back(request);
}

/// A caller waits for the answer, and not for the servers that reply after a majority has given it.
quorum_link::on_reply quorum_link::awaiting(on_reply handler) {
  auto awaited = std::make_shared<runtime::awaited_reply>(reader().expect_reply());
  return {handler.request, [awaited = std::move(awaited), handler = std::move(handler)](outcome&& o) {
            awaited->reset();
            handler(std::move(o));
          }};
}

void quorum_link::send_to(std::size_t to, ballots::request request, on_reply handler) {
  const node_ptr& node = servers_.at(to)->node();
  node->push(command_of(std::move(request), std::move(handler)), false);  // see awaiting
  add_unflushed(node);
  if (!is_called_) kick_soon();
}

void quorum_link::soon(std::function<void()> action) {
  loop().defer([this, action = std::move(action)] {
    const runtime::core_lock now{loop()};
    action();
  });
}

void quorum_link::join(std::size_t to, const std::string& set) { servers_.at(to)->join(set); }
void quorum_link::leave(std::size_t to, const std::string& set) { servers_.at(to)->leave(set); }

void quorum_link::track(const store::watched& target, bool on) {
  for (const auto& each : servers_) each->node()->track(target, on);
}

}  // namespace holdfast::quorum
