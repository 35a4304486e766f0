#include "stores/redis/protocol/failover_guard.hpp"

#include <algorithm>

#include "stores/redis/protocol/keys.hpp"
#include "stores/redis/protocol/resp.hpp"
#include "stores/redis/protocol/scripts.hpp"
#include "stores/redis/protocol/server_errors.hpp"

namespace holdfast::redis {

using std::chrono::milliseconds;

namespace {

/// What the server calls a cause, for people.
std::string_view text_of(std::string_view cause) {
  if (cause == "empty") return "the server started without the locks that it had before";
  return "the server became the primary, or restarted without its last writes";
}

std::string seconds(milliseconds length) {
  return std::to_string(std::chrono::ceil<std::chrono::seconds>(length).count()) + " s";
}

}  // namespace

void failover_guard::append_question(std::string& out, const dialect& in, bool durable) {
  append(out, {"EVAL", text::guard, "1", guard_key(in.prefix), std::to_string(in.guard.count()),
               durable ? "1" : "0"});
}

std::optional<store::request_error> failover_guard::hear(const value& reply, store::time_point now) {
  if (reply.is(value::kind::error)) {
    store::request_error refusal = request_error_of(reply.text);
    refusal.reason.message += "; it was asked whether it may have forgotten locks, for failover_guard";
    return refusal;
  }
  // A server is not trusted.
  const auto time_in = [&](std::size_t index) {
    const bool given = index < reply.items.size() && reply.items[index].is(value::kind::number);
    return milliseconds{given ? std::clamp<std::int64_t>(reply.items[index].number, 0, longest_ms) : 0};
  };
  if (!reply.is(value::kind::list) || reply.items.empty() || !reply.items[0].is(value::kind::number)) {
    return store::request_error{
        {errc::corrupt_store, "the server's reply has not the form that the script returns"}, false, false};
  }
  const milliseconds left = time_in(0);
  until_ = left.count() == 0 ? store::time_point{} : now + left;
  since_ = now - time_in(1);
  cause_ = reply.items.size() > 2 ? reply.items[2].text : std::string{};
  return std::nullopt;
}

std::optional<failover_guard::pause> failover_guard::pause_at(store::time_point now) const {
  if (now >= until_) return std::nullopt;
  const auto left = std::chrono::ceil<milliseconds>(until_ - now);
  const auto since = std::chrono::floor<milliseconds>(now - since_);
  std::string message{text_of(cause_)};
  message.append(" ")
      .append(seconds(since))
      .append(" ago, and may have forgotten locks that are held; it grants nothing new for ")
      .append(seconds(left))
      .append(" more (failover_guard)");
  return pause{{errc::unavailable, std::move(message)}, left};
}

}  // namespace holdfast::redis
