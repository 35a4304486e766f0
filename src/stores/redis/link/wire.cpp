#include "stores/redis/link/wire.hpp"

#include <poll.h>
#include <string_view>
#include <sys/socket.h>
#include <utility>

namespace holdfast::redis {

short wire::events() const {
  const bool writes = !unsent_.empty() || connection_.stream->reading_wants_to_write();
  return static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN);
}

void wire::put(pending_command& c) {
  if (c.fsm) {
    c.replies_due = c.fsm->say(unsent_, connection_.guard.pause_now());
  } else if (c.is_ping && in_.guard.count() != 0) {
    failover_guard::append_question(unsent_, in_, asks_in_full_);
    last_question_ = std::chrono::steady_clock::now();
    is_pinged_ = true;
  } else {
    unsent_ += c.command;
  }
}

void wire::hear_ping(const value& reply) {
  if (!std::exchange(is_pinged_, false)) return;
  asks_in_full_ = !asks_in_full_ && reply.is(value::kind::error) && reply.text.starts_with("NOSCRIPT");
  if (asks_in_full_) {
    last_question_ -= ask_every;  // again, before anything else
    return;
  }
  if (auto refusal = connection_.guard.hear(reply, in_, boot_clock::now())) {
    throw connection_error{std::move(refusal->reason), refusal->retryable};
  }
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
  while (true) {
    const std::size_t n = connection_.stream->read_some(buffer.data(), buffer.size());
    connection_.parser.feed({buffer.data(), n});
    while (auto message = connection_.parser.next()) messages.push_back(std::move(*message));
    if (n == 0 || (n < buffer.size() && !is_tls_)) return;  // TLS may hold more than it gave
  }
}

}  // namespace holdfast::redis
