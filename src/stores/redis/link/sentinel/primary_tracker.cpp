// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/link/sentinel/primary_tracker.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <poll.h>
#include <utility>

#include "holdfast/error.hpp"
#include "stores/redis/protocol/replies.hpp"
#include "stores/redis/protocol/resp.hpp"
#include "stores/redis/protocol/sentinel_replies.hpp"

namespace holdfast::redis {

namespace {

constexpr std::size_t buffer_size = std::size_t{16} * 1024;
/// A Sentinel says nothing for days. One that is gone is noticed soon, since another one has to be heard.
constexpr std::chrono::milliseconds quiet_limit{5000};

std::string address_question(const std::string& primary) {
  std::string question;
  append_address_question(question, primary);
  return question;
}

/// A Sentinel grants nothing.
dialect without_guard(dialect speech) {
  speech.guard = {};
  return speech;
}

}  // namespace

bool question_limit::take(time_point now) {
  const auto added = static_cast<int>(std::clamp<std::int64_t>((now - refilled_) / refill, 0, most));
  tokens_ = std::min(most, tokens_ + added);
  refilled_ = tokens_ == most ? now : refilled_ + added * refill;
  if (tokens_ == 0) return false;
  --tokens_;
  return true;
}

primary_tracker::primary_tracker(runtime::event_loop& loop, runtime::connection_reader& reader,
                                 const settings& of, const tls_context* secure, reconnect action)
    : settings_{of},
      secure_{secure},
      reconnect_{std::move(action)},
      search_{settings_, secure},
      question_{address_question(of.sentinel.primary)},
      no_guard_{without_guard(of.speech)},
      buffer_(buffer_size),
      subscription_{
          loop, reader, *this, {of.place(), of.answer_limit, std::min(of.quiet_limit, quiet_limit)}} {}

// ---- the connection to the primary

connection primary_tracker::connect_to_primary(const wishes& of, int stop) {
  whereabouts_.begin_search();
  connection made =
      search_.run(false, stop, [&](const sentinel_search::answer& from, const io_deadline& limit) {
        const server_address& server = from.primary.value();
        whereabouts_.lead_to(server);
        return dial(settings_, server, secure_, limit, of);
      });
  whereabouts_.end_search();
  return made;
}

/// A report that came before the connection was in use has found nothing to reconnect.
void primary_tracker::on_primary_connected() {
  if (const auto primary = whereabouts_.move()) {
    leave(*primary);
  } else if (whereabouts_.take_wrong_report()) {
    subscription_.reconnect({{errc::unavailable, "its answers do not lead to the primary"}, true, true});
  }
}

void primary_tracker::on_report(const server_address& primary) {
  if (whereabouts_.report(primary)) leave(primary);
}

void primary_tracker::leave(const server_address& primary) {
  reconnect_(
      {{errc::unavailable, "a Sentinel says that the primary is " + primary.place() + " now"}, true, true});
}

std::string primary_tracker::place_of_primary() const {
  const std::string server = whereabouts_.place();
  return server.empty() ? settings_.place() : settings_.place() + " at " + server;
}

// ---- the subscription

std::unique_ptr<pending_command> primary_tracker::ping() const {
  auto c = std::make_unique<pending_command>();
  append(c->command, {"PING"});
  return c;
}

std::string primary_tracker::place() const { return settings_.sentinel.addresses.at(sentinel_).place(); }

// ---- connecting

std::unique_ptr<wire> primary_tracker::connect(int stop) {
  connection made = search_.run(true, stop, [this](sentinel_search::answer from, const io_deadline&) {
    sentinel_ = from.sentinel;
    named_ = from.primary.value();
    return std::move(from.to);
  });
  return std::make_unique<wire>(std::move(made), settings_.tls.on, no_guard_, no_marker_);
}

// ---- reading

void primary_tracker::begin_reading() {
  is_asking_ = false;
  has_to_ask_again_ = false;
  read_all();
}

void primary_tracker::read(short ready) {
  if ((ready & POLLOUT) != 0) subscription_.lock()->write_out();
  read_all();
}

void primary_tracker::read_all() {
  try {
    std::vector<value> messages;
    subscription_.wire().read(buffer_, messages);
    const bool has_moved = match(std::move(messages));
    for (const auto& each : subscription_.completed()) {
      if (each->command == question_) {
        take_answer(each->replies.at(0));
      } else {
        subscription_.on_success();  // to a ping: it has lived for some time
      }
    }
    subscription_.forget_completed();
    if (has_moved) ask();
  } catch (const parser::garbage& g) {
    throw connection_error{
        {errc::corrupt_store, std::string{"what the Sentinel sends is no RESP3: "} + g.what()}};
  } catch (const misunderstood&) {
    throw connection_error{{errc::corrupt_store, "the Sentinel's answer is not the address of a server"}};
  }
}

bool primary_tracker::match(std::vector<value> messages) {
  bool has_moved = false;
  auto line = subscription_.lock();
  line.heard();
  for (value& m : messages) {
    if (m.is(value::kind::push)) {
      has_moved = has_moved || announces_switch(m, settings_.sentinel.primary);
      continue;
    }
    pending_command* const first = line.first_in_flight();
    if (first == nullptr) throw parser::garbage{"an answer without a request"};
    first->replies.push_back(std::move(m));
    line.finish_first();
  }
  return has_moved;
}

void primary_tracker::take_answer(const value& reply) {
  is_asking_ = false;
  const std::optional<server_address> primary =
      reply.is(value::kind::error) ? std::nullopt : primary_address_in(reply);
  if (!primary)
    throw connection_error{{errc::unavailable, "the Sentinel does not know the primary any more"}};
  on_report(*primary);
  if (std::exchange(has_to_ask_again_, false)) ask();
}

/// One question at a time. A Sentinel that sends more notifications than failovers can cause is left: the
/// next one is connected after a pause, and asked then.
void primary_tracker::ask() {
  if (is_asking_) {
    has_to_ask_again_ = true;
    return;
  }
  if (!limit_.take(std::chrono::steady_clock::now()))
    throw connection_error{{errc::unavailable, "the Sentinel announces too many failovers"}};
  is_asking_ = true;
  auto c = std::make_unique<pending_command>();
  c->command = question_;
  subscription_.push(std::move(c), true);
  subscription_.flush();
}

}  // namespace holdfast::redis
