#include "stores/redis/protocol/listing.hpp"

#include <string_view>

#include "core/summary.hpp"
#include "stores/redis/protocol/inspection.hpp"
#include "stores/redis/protocol/keys.hpp"
#include "stores/redis/protocol/redirection.hpp"
#include "stores/redis/protocol/replies.hpp"
#include "stores/redis/protocol/resp.hpp"
#include "stores/redis/protocol/script_call.hpp"
#include "stores/redis/protocol/scripts.hpp"
#include "stores/redis/protocol/server_errors.hpp"

namespace holdfast::redis {

namespace {

/// The server carries them out in one go, and sends no more than some 16 KiB of each.
constexpr std::size_t names_at_once = 32;

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
  const script s = {text::inspect_sha1, text::inspect};
  std::size_t n = 0;
  for (auto lock = found.begin(); lock != found.end() && n < names_at_once; ++lock, ++n) {
    // One script in full, because the server may not have it.
    begin_call(out, s, n == 0, 1, inspection::argument_count);
    append_keys(out, {}, *lock);
    inspection::append_arguments_of_summary(out);
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
    inspected_part seen;
    try {
      seen = part_of(lock.substr(in.prefix.size()), reply);
    } catch (const misunderstood&) {
      continue;  // likewise
    }
    const bool in_use = seen.holders != 0 || seen.waiters != 0;
    if (!seen.state || !(in_use || idle)) continue;
    summaries.push_back(store::summary_of(*seen.state));
    summaries.back().holders = seen.holders;
    summaries.back().waiters = seen.waiters;
  }
  return std::nullopt;
}

}  // namespace holdfast::redis
