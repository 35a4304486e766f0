#include "stores/redis/protocol/listing.hpp"

#include <string_view>

#include "core/summary.hpp"
#include "stores/redis/protocol/keys.hpp"
#include "stores/redis/protocol/redirection.hpp"
#include "stores/redis/protocol/replies.hpp"
#include "stores/redis/protocol/resp.hpp"
#include "stores/redis/protocol/script_call.hpp"
#include "stores/redis/protocol/server_errors.hpp"

namespace holdfast::redis {

namespace {

constexpr std::size_t names_at_once = 64;

}  // namespace

/// One pass finds both kinds of keys, because a fence's key contains the lock's key.
void listing::append_scan(std::string& out, const dialect& in) const {
  std::string pattern{"*"};
  if (in.prefix.empty()) {
    pattern.append("\x1f").append("fence");
  } else {
    pattern.append(literally(in.prefix)).append("*");
  }
  append(out, {"SCAN", cursor, "MATCH", pattern, "COUNT", "1000", "TYPE", "string"});
}

bool listing::hear_scan(const value& reply, const dialect& in) {
  if (!reply.is(value::kind::list) || reply.items.size() != 2) throw misunderstood{};
  for (const value& key : reply.items[1].items) {
    const auto of_fence = lock_of_fence(key.text);
    // Without a prefix, any text at the server would look like a foreign client's lock.
    const bool is_lock = !in.prefix.empty() && !is_side_key(key.text);
    if (!of_fence && !is_lock) continue;
    const std::string& lock = of_fence ? *of_fence : key.text;
    // Other keys that match the pattern are no locks.
    if (lock.starts_with(in.prefix) && lock.size() > in.prefix.size()) found.insert(lock);
  }
  const std::string& next = reply.items[0].text;
  scanned = next == "0";
  const bool progress = scanned || next != cursor;  // otherwise the scan would not end
  cursor = next;
  return progress;
}

std::size_t listing::append_details(std::string& out) const {
  const script s = script_of(tickets::task::inspect);
  std::size_t n = 0;
  for (auto lock = found.begin(); lock != found.end() && n < names_at_once; ++lock, ++n) {
    begin_call(out, s, n == 0, 1, 0);  // one script in full, because the server may not have it
    append_keys(out, keys::of({}, *lock));
  }
  return n;
}

std::optional<store::request_error> listing::hear_details(const std::vector<value>& replies,
                                                          const dialect& in, bool idle) {
  for (const value& reply : replies) {
    const bool is_elsewhere = reply.is(value::kind::error) && redirection_in(reply.text);
    if (reply.is(value::kind::error) && !is_elsewhere) {
      store::request_error t = request_error_of(reply.text);
      if (t.reason.code != errc::wrong_type) return t;  // the key stays in `found`, for the next try
    }
    const std::string lock = *found.begin();
    found.erase(found.begin());
    if (is_elsewhere) moved.insert(lock);
    if (reply.is(value::kind::error)) continue;  // or the key is no lock, although its name matches
    std::optional<lock_state> state;
    try {
      state = state_of(lock.substr(in.prefix.size()), reply);
    } catch (const misunderstood&) {
      continue;  // likewise
    }
    const bool in_use = state && !(state->holders.empty() && state->waiters.empty());
    if (state && (in_use || idle)) summaries.push_back(store::summary_of(*state));
  }
  return std::nullopt;
}

}  // namespace holdfast::redis
