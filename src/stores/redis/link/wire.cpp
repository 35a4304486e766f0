// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/link/wire.hpp"

#include <atomic>
#include <poll.h>
#include <string_view>
#include <sys/socket.h>
#include <utility>

#include "stores/redis/protocol/resp.hpp"

namespace holdfast::redis {

namespace {

/// Reads at one wake-up. One thread reads all connections and serves the callers: a server that sends without
/// a pause must not keep it. What is left in the socket wakes it again.
constexpr int reads_at_once = 16;

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

}  // namespace

void pending_command::complete() {
  if (on_answer) return std::exchange(on_answer, nullptr)(replies.empty() ? nullptr : &replies.back());
  const bool is_refused = fsm && (fsm->redirection() || fsm->is_between_servers());
  if (redirected && is_refused) return std::exchange(redirected, nullptr)(*this);
  base::complete();
}

wire::wire(connection established, bool is_tls, const dialect& in, const guard_marker& marker)
    : number_{next_number()}, connection_{std::move(established)}, is_tls_{is_tls}, in_{in}, marker_{marker} {
  if (connection_.has_shard_channels) channels_ = std::make_unique<shard_channels>();
  if (connection_.has_answered_guard) last_question_ = std::chrono::steady_clock::now();
}

short wire::events() const {
  const bool writes = !unsent_.empty() || connection_.stream->reading_wants_to_write();
  return static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN);
}

void wire::put(pending_command& c) {
  c.sent = std::chrono::steady_clock::now();
  if (c.fsm && c.is_asking) {  // which concerns one command
    append(unsent_, {"ASKING"});
    c.replies_due = 1 + c.fsm->say(unsent_, connection_.guard.pause_now());
  } else if (c.fsm) {
    c.replies_due = c.fsm->say(unsent_, connection_.guard.pause_now(), channels_.get());
  } else if (c.is_ping && in_.guard.count() != 0 && marker_.is_known()) {
    connection_.guard.append_question(unsent_, in_, asks_in_full_, marker_);
    last_question_ = std::chrono::steady_clock::now();
    is_pinged_ = true;
  } else {
    unsent_ += c.command;
  }
}

void wire::hear_ping(const value& reply, bool moved) {
  if (!std::exchange(is_pinged_, false)) return;
  asks_in_full_ = !asks_in_full_ && reply.is(value::kind::error) && reply.text.starts_with("NOSCRIPT");
  // No request is sent meanwhile, and none may wait for ever.
  if (moved && ++moves_ > most_moves)
    throw connection_error{{errc::unavailable, "the server says of each slot that another one has it"}};
  if (asks_in_full_ || moved) {
    last_question_ -= ask_every;  // again, before anything else
    return;
  }
  if (auto refusal = connection_.guard.hear(reply, in_, boot_clock::now(), marker_)) {
    throw connection_error{std::move(refusal->reason), refusal->retryable};
  }
  moves_ = 0;
}

void wire::write_out() {
  try {
    std::string_view left = unsent_;
    while (!left.empty()) {
      const std::size_t n = connection_.stream->write_some(left);
      if (n == 0) break;
      left.remove_prefix(n);
    }
    unsent_.erase(0, unsent_.size() - left.size());
  } catch (const connection_error&) {     // replies that came before that can still be read
    ::shutdown(descriptor(), SHUT_RDWR);  // the reader notices it
  }
}

void wire::read(std::vector<char>& buffer, std::vector<value>& messages) {
  for (int reads = 0; reads < reads_at_once || connection_.stream->has_buffered(); ++reads) {
    const std::size_t n = connection_.stream->read_some(buffer.data(), buffer.size());
    connection_.parser.feed({buffer.data(), n});
    while (auto message = connection_.parser.next()) messages.push_back(std::move(*message));
    if (n == 0 || (n < buffer.size() && !is_tls_)) return;  // a read of TLS ends with a record
  }
}

}  // namespace holdfast::redis
