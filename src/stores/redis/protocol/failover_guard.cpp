// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/protocol/failover_guard.hpp"

#include <algorithm>
#include <string_view>

#include "stores/redis/protocol/keys.hpp"
#include "stores/redis/protocol/resp.hpp"
#include "stores/redis/protocol/scripts.hpp"
#include "stores/redis/protocol/server_answers.hpp"

namespace holdfast::redis {

using std::chrono::milliseconds;

namespace {

/// A cause that guard.lua names, for people.
std::string_view text_of(std::string_view cause) {
  return cause == "started" ? "the server was started " : "the server became the primary, or was restarted, ";
}

std::string seconds(std::chrono::seconds length) { return std::to_string(length.count()) + " s"; }

/// \param longest in use: another client may have asked for a longer one than this.
std::string option_text(const dialect& in, milliseconds longest, const guard_marker& at) {
  const milliseconds own = in.guard + in.former_primary;
  if (longest <= own) return in.guard_option;
  return std::string{in.guard_option} + " of " + seconds(std::chrono::ceil<std::chrono::seconds>(longest)) +
         ", which another client has asked for; this one asks for " +
         seconds(std::chrono::ceil<std::chrono::seconds>(own)) + ". If no lock with a longer ttl is held, " +
         "redis-cli DEL " + key_for_shell(at.key(in.prefix)) + " forgets the longer one";
}

/// Says what to do where the question is refused.
store::request_error refusal_of(const std::string& error, const std::string& marker,
                                const std::string& option) {
  store::request_error refusal = request_error_of(error);
  std::string& message = refusal.reason.message;
  if (refusal.reason.code == errc::permission_denied) {
    message +=
        "; for " + option + " a client asks INFO: allow this user +info, or give the URL " + option + "=0";
  } else if (refusal.reason.code == errc::wrong_type) {
    message = "the key " + marker + " of " + option + " contains something else; delete it (" + error + ")";
  }
  return refusal;
}

}  // namespace

std::string guard_marker::key(std::string_view prefix) const {
  const int place = place_;
  return place < 0 ? guard_key(prefix) : guard_key(prefix, static_cast<std::uint16_t>(place));
}

kept_writes kept_writes_in(const value& settings) {
  if (!settings.is(value::kind::list)) return kept_writes::unknown;
  return keep_each_write(settings_in(settings)) ? kept_writes::yes : kept_writes::no;
}

void failover_guard::append_question(std::string& out, const dialect& in, bool in_full,
                                     const guard_marker& at, kept_writes writes) const {
  const bool has_copy = at.is_in_slot();  // asked once: it may move at any time
  append_command(out, has_copy ? 8 : 7);
  for (const std::string_view each : {std::string_view{in_full ? "EVAL" : "EVALSHA"},
                                      in_full ? text::guard : text::guard_sha1, std::string_view{"1"}}) {
    append_bulk_string(out, each);
  }
  append_bulk_string(out, at.key(in.prefix));
  append_bulk_string(out, std::to_string((in.guard + in.former_primary).count()));
  append_bulk_string(out, std::to_string(in.former_primary.count()));
  append_bulk_string(out, writes == kept_writes::unknown ? ""
                          : writes == kept_writes::yes   ? "kept"
                                                         : "loose");
  if (has_copy) append_bulk_string(out, marker_);
}

std::optional<store::request_error> failover_guard::hear(const value& reply, const dialect& in,
                                                         store::time_point now, const guard_marker& at) {
  if (reply.is(value::kind::error)) return refusal_of(reply.text, at.key(in.prefix), in.guard_option);
  // A server is not trusted.
  const auto time_in = [&](std::size_t index, std::int64_t most = longest_ms) {
    const bool given = index < reply.items.size() && reply.items[index].is(value::kind::number);
    return milliseconds{given ? std::clamp<std::int64_t>(reply.items[index].number, 0, most) : 0};
  };
  if (!reply.is(value::kind::list) || reply.items.empty() || !reply.items[0].is(value::kind::number)) {
    return store::request_error{
        {errc::corrupt_store, "the server's reply has not the form that the script returns"}, false, false};
  }
  option_ = option_text(in, time_in(3), at);
  const milliseconds left = time_in(0);
  until_ = left.count() == 0 ? store::time_point{} : now + left;
  since_ = now - time_in(1);
  cause_ = reply.items.size() > 2 ? reply.items[2].text : std::string{};
  ends_ = time_in(5, latest_ms);
  if (reply.items.size() > 4 && reply.items[4].text.size() <= longest_marker) marker_ = reply.items[4].text;
  return std::nullopt;
}

std::optional<failover_guard::pause> failover_guard::pause_at(store::time_point now) const {
  if (now >= until_) return std::nullopt;
  const auto left = std::chrono::ceil<milliseconds>(until_ - now);
  std::string message{text_of(cause_)};
  message.append(seconds(std::chrono::floor<std::chrono::seconds>(now - since_)))
      .append(" ago, and may have forgotten locks that are held; it grants nothing new for ")
      .append(seconds(std::chrono::ceil<std::chrono::seconds>(left)))
      .append(" more (")
      .append(option_)
      .append(")");
  return pause{{errc::unavailable, std::move(message)}, left, ends_};
}

std::optional<failure> outlasts_guard(const tickets::request& request, const dialect& in) {
  if (in.guard.count() == 0) return std::nullopt;
  if (const auto* const all = std::get_if<tickets::acquire_all>(&request)) {
    for (const store::claim_ptr& each : all->claims) {
      if (auto refusal = outlasts_guard(tickets::acquire{each}, in)) return refusal;
    }
  }
  const auto* const made = std::get_if<tickets::acquire>(&request);
  if (made == nullptr) return std::nullopt;
  const store::claim& claim = *made->claim;
  const duration ttl = store_ttl(claim);
  if (ttl <= in.guard) return std::nullopt;
  const auto seconds = [](duration length) {
    return std::to_string(std::chrono::ceil<std::chrono::seconds>(length).count()) + "s";
  };
  return failure{errc::invalid_argument,
                 "a ttl of " + seconds(ttl) + (claim.grace.count() == 0 ? "" : " (its grace included)") +
                     " is longer than the " + in.guard_option + " of " + seconds(in.guard) +
                     "; give the store's URL " + in.guard_option + "=" + seconds(ttl) +
                     " or more on all clients, or take a shorter ttl"};
}

}  // namespace holdfast::redis
