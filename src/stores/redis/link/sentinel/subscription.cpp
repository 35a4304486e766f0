#include "stores/redis/link/sentinel/subscription.hpp"

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

sentinel_subscription::sentinel_subscription(runtime::event_loop& loop, runtime::connection_reader& reader,
                                             sentinel_search& search, const settings& of, on_report handler)
    : search_{search},
      settings_{of},
      on_report_{std::move(handler)},
      question_{address_question(of.sentinel.primary)},
      no_guard_{without_guard(of.speech)},
      buffer_(buffer_size),
      connection_{loop, reader, *this, {of.place(), of.answer_limit, std::min(of.quiet_limit, quiet_limit)}} {
}

void sentinel_subscription::leave_sentinel() {
  connection_.reconnect({{errc::unavailable, "its answers do not lead to the primary"}, true, true});
}

std::unique_ptr<pending_command> sentinel_subscription::ping() const {
  auto c = std::make_unique<pending_command>();
  append(c->command, {"PING"});
  return c;
}

std::string sentinel_subscription::place() const {
  return settings_.sentinel.addresses.at(sentinel_).place();
}

// ---- connecting

std::unique_ptr<wire> sentinel_subscription::connect(int stop) {
  connection made = search_.run(true, stop, [this](sentinel_search::answer from, const io_deadline&) {
    sentinel_ = from.sentinel;
    primary_ = from.primary.value();
    return std::move(from.to);
  });
  return std::make_unique<wire>(std::move(made), settings_.tls.on, no_guard_, no_marker_);
}

void sentinel_subscription::on_connected() { on_report_(primary_); }

// ---- reading

void sentinel_subscription::begin_reading() {
  is_asking_ = false;
  has_to_ask_again_ = false;
  read_all();
}

void sentinel_subscription::read(short ready) {
  if ((ready & POLLOUT) != 0) connection_.lock()->write_out();
  read_all();
}

void sentinel_subscription::read_all() {
  try {
    std::vector<value> messages;
    connection_.wire().read(buffer_, messages);
    const bool has_moved = match(std::move(messages));
    for (const auto& each : connection_.completed()) {
      if (each->command == question_) {
        take_answer(each->replies.at(0));
      } else {
        connection_.on_success();  // to a ping: it has lived for some time
      }
    }
    connection_.forget_completed();
    if (has_moved) ask();
  } catch (const parser::garbage& g) {
    throw connection_error{
        {errc::corrupt_store, std::string{"what the Sentinel sends is no RESP3: "} + g.what()}};
  } catch (const misunderstood&) {
    throw connection_error{{errc::corrupt_store, "the Sentinel's answer is not the address of a server"}};
  }
}

bool sentinel_subscription::match(std::vector<value> messages) {
  bool has_moved = false;
  auto line = connection_.lock();
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

void sentinel_subscription::take_answer(const value& reply) {
  is_asking_ = false;
  const std::optional<server_address> primary =
      reply.is(value::kind::error) ? std::nullopt : primary_address_in(reply);
  if (!primary)
    throw connection_error{{errc::unavailable, "the Sentinel does not know the primary any more"}};
  on_report_(*primary);
  if (std::exchange(has_to_ask_again_, false)) ask();
}

/// One question at a time. A Sentinel that sends more notifications than failovers can cause is left: the
/// next one is connected after a pause, and asked then.
void sentinel_subscription::ask() {
  if (is_asking_) {
    has_to_ask_again_ = true;
    return;
  }
  if (!limit_.take(std::chrono::steady_clock::now()))
    throw connection_error{{errc::unavailable, "the Sentinel announces too many failovers"}};
  is_asking_ = true;
  auto c = std::make_unique<pending_command>();
  c->command = question_;
  connection_.push(std::move(c), true);
  connection_.flush();
}

}  // namespace holdfast::redis
