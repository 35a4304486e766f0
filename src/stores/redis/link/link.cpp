#include "stores/redis/link/link.hpp"

#include <algorithm>
#include <poll.h>
#include <sys/socket.h>

#include "holdfast/error.hpp"
#include "stores/redis/protocol/keys.hpp"

namespace holdfast::redis {

namespace {

constexpr std::size_t buffer_size = std::size_t{64} * 1024;
/// With so many answers due, what is sent next can wait for the first of them, and travel together.
constexpr std::size_t many = 16;

bool is_release(tickets::task what) {
  return what == tickets::task::release || what == tickets::task::withdraw;
}

}  // namespace

link::link(runtime::event_loop& on, settings s)
    : link_on_line{on, {s.place(), s.answer_limit, s.quiet_limit, many}},
      settings_{std::move(s)},
      buffer_(buffer_size) {
  if (settings_.tls.on) secure_ = std::make_unique<tls_context>(settings_);
  begin();
}

void link::send(tickets::request what, on_reply done) {
  const bool urgent = !is_release(what.what);
  auto j = std::make_unique<said>();
  j->talk.emplace(std::move(what), settings_.speech, client_);
  j->done = std::move(done);
  enqueue(std::move(j), urgent);
}

void link::track(bool on) {
  auto j = std::make_unique<said>();
  if (on) {
    append_tracking(j->command, settings_.speech.prefix);
  } else {
    append(j->command, {"CLIENT", "TRACKING", "OFF"});
  }
  enqueue(std::move(j), false);
}

runtime::multiplexed_connection::job_ptr link::ping() const {
  auto j = std::make_unique<said>();
  append(j->command, {"PING"});
  return j;
}

// ---- connecting

void link::reconnect(int stop) {
  std::string former;
  {
    const std::lock_guard hold{wire_mutex_};
    former = former_;
  }
  try {
    auto made = std::make_unique<connection>(
        redis::dial(settings_, secure_.get(), client_, is_tracked(), former, stop));
    const std::vector<value> early = std::move(made->early);
    use([&] {
      wire_ = std::move(made);
      former_.clear();
    });
    flush();
    deliver_words(words_in(early));
    if (tell_of_change(early)) ring_watchers();
  } catch (const parser::garbage& g) {
    throw connection_error{{errc::corrupt_store, "what answers there is no Redis server: " + g.what}, false};
  }
}

void link::drop_wire() {
  out_.clear();
  former_ = std::move(wire_->kill);
  wire_.reset();
}

// ---- writing

short link::events() const {
  const bool writes = !out_.empty() || wire_->stream->reading_wants_to_write();
  return static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN);
}

void link::put_on_wire(job& j) {
  auto& what = static_cast<said&>(j);
  if (what.talk) {
    what.due = what.talk->say(out_);
  } else {
    out_ += what.command;
  }
}

void link::write_out() {
  try {
    std::string_view left = out_;
    while (!left.empty()) {
      const std::size_t n = wire_->stream->write_some(left);
      if (n == 0) break;
      left.remove_prefix(n);
    }
    out_.erase(0, out_.size() - left.size());
  } catch (const connection_error&) {                    // what came before that can be read still
    ::shutdown(wire_->stream->descriptor(), SHUT_RDWR);  // who listens will hear of it
  }
}

// ---- listening

void link::hear(short ready) {
  if ((ready & POLLOUT) != 0) {
    const std::lock_guard hold{wire_mutex_};
    write_out();
  }
  read_all();
}

void link::read_all() {
  try {
    std::vector<value> messages;
    while (true) {
      const std::size_t n = wire_->stream->read_some(buffer_.data(), buffer_.size());
      wire_->parser.feed({buffer_.data(), n});
      while (auto message = wire_->parser.next()) messages.push_back(std::move(*message));
      if (n < buffer_.size() && secure_ == nullptr) break;
      if (n == 0) break;
    }
    take_in(std::move(messages));
  } catch (const parser::garbage& g) {
    throw connection_error{{errc::corrupt_store, "what the server sends is no RESP3: " + g.what}};
  }
}

void link::take_in(std::vector<value> messages) {
  const received all = sort(std::move(messages));
  const bool demoted = conclude();
  deliver(words_in(all.pushes));
  if (tell_of_change(all.pushes)) ring_watchers();
  if (all.surplus) throw parser::garbage{"an answer without a request"};
  // After a failover the name of the host may lead to another server, this connection never will.
  if (demoted) throw connection_error{{errc::unavailable, "the server is a replica (READONLY)"}};
}

/// Gives each answer to whom it is owed.
link::received link::sort(std::vector<value> messages) {
  received all;
  const std::lock_guard hold{wire_mutex_};
  heard_now();
  for (value& m : messages) {
    if (m.is(value::kind::push)) {
      all.pushes.push_back(std::move(m));
      continue;
    }
    auto* const first = static_cast<said*>(first_owed());
    if (first == nullptr) {
      all.surplus = true;
      break;
    }
    first->replies.push_back(std::move(m));
    if (first->replies.size() >= first->due) take_first();
  }
  return all;
}

/// What the answers come to.
/// \return whether one says that the server is a replica.
bool link::conclude() {
  bool demoted = false;
  for (std::size_t i = 0; i < answered().size(); ++i) {
    auto& j = static_cast<said&>(*answered()[i]);
    const value& first = j.replies[0];
    if (!first.is(value::kind::error)) prove();
    if (!j.talk) continue;
    demoted = demoted || (first.is(value::kind::error) && first.text.find("READONLY ") != std::string::npos);
    j.result = j.talk->hear(std::exchange(j.replies, {}));
    if (!j.result) send_again(i);
  }
  return demoted;
}

runtime::multiplexed_connection::words link::words_in(const std::vector<value>& pushes) const {
  words all;
  for (const value& p : pushes) {
    if (p.items.size() < 3 || p.items[0].text != "message") continue;
    if (auto w = read_word(p.items[2].text, settings_.speech)) all.push_back(std::move(*w));
  }
  return all;
}

bool link::tell_of_change(const std::vector<value>& pushes) const {
  return std::any_of(pushes.begin(), pushes.end(), [this](const value& p) {
    return p.items.size() >= 2 && p.items[0].text == "invalidate" && concerns_us(p.items[1]);
  });
}

/// Null: everything was flushed.
bool link::concerns_us(const value& invalidation) const {
  const std::string& prefix = settings_.speech.prefix;
  return !invalidation.is(value::kind::list) ||
         std::any_of(invalidation.items.begin(), invalidation.items.end(), [&](const value& key) {
           const auto lock = lock_of_side_key(key.text);
           return lock ? lock->starts_with(prefix) : key.text.starts_with(prefix);
         });
}

}  // namespace holdfast::redis
