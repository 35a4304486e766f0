#include "link/redis/link.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "holdfast/error.hpp"
#include "protocol/redis/keys.hpp"
#include "runtime/signals.hpp"

namespace holdfast::redis {

namespace {

constexpr std::size_t buffer_size = std::size_t{64} * 1024;
/// With so many answers due, what is sent next can wait for the first of them, and travel together.
constexpr std::size_t many = 16;

bool is_release(tickets::task what) {
  return what == tickets::task::release || what == tickets::task::withdraw;
}

}  // namespace

link::bell::bell() : fd{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {
  if (fd < 0) throw error{errc::exhausted, "no descriptor is left for a connection"};
}
link::bell::~bell() { ::close(fd); }
void link::bell::drain() const {
  std::uint64_t rings = 0;
  [[maybe_unused]] const auto n = ::read(fd, &rings, sizeof rings);
}

link::link(runtime::loop& on, settings s)
    : loop_{on}, settings_{std::move(s)}, watchers_{on}, buffer_(buffer_size) {
  if (settings_.tls.on) secure_ = std::make_unique<tls_context>(settings_);
  thread_ = runtime::quiet_thread([this] { work(); });
}

link::~link() { shut(); }

void link::shut() {
  stopping_ = true;
  {
    const std::lock_guard hold{pause_mutex_};
  }
  paused_.notify_one();
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(stop_.fd, &one, sizeof one);
  leadership_.ring();
  leadership_.wake();
  if (thread_.joinable()) thread_.join();
}

void link::send(tickets::request what, on_reply done) {
  if (!is_release(what.what)) urgent_ = true;
  auto j = std::make_unique<job>();
  j->talk.emplace(std::move(what), settings_.speech, client_);
  j->done = std::move(done);
  enqueue(std::move(j));
}

/// One of the link's own.
void link::command(std::string bytes) {
  auto j = std::make_unique<job>();
  j->command = std::move(bytes);
  enqueue(std::move(j));
}

void link::enqueue(job_ptr j) {
  const std::lock_guard hold{queue_mutex_};
  queue_.push_back(std::move(j));
  queued_ = queue_.size();
}

std::vector<link::job_ptr> link::take_queue() {
  const std::lock_guard hold{queue_mutex_};
  queued_ = 0;
  return std::exchange(queue_, {});
}

std::shared_ptr<void> link::watch(std::function<void()> changed) {
  if (watches_++ == 0) {
    tracked_ = true;
    std::string on;
    append_tracking(on, settings_.speech.prefix);
    command(std::move(on));
  }
  return {this, [this, inner = watchers_.add(std::move(changed))](void*) mutable {
            inner.reset();
            const runtime::turn now{loop_};
            if (--watches_ != 0) return;
            tracked_ = false;
            std::string off;
            append(off, {"CLIENT", "TRACKING", "OFF"});
            command(std::move(off));
          }};
}

void link::kick() {
  if (queued_ == 0) return;
  if (owed_count_ > many && leadership_.is_taken()) return;  // who listens sends it with the next answer
  flush();
  if (urgent_ && !leadership_.is_taken()) leadership_.wake();
}

bool link::drive() {
  flush();
  return false;
}

void link::help(store::caller& who) {
  if (owed_count_ <= many || !leadership_.is_taken()) flush();
  while (!who.is_served()) {
    if (connected_ && leadership_.take(who)) {
      listen(&who);
      leadership_.leave();
    } else if (!who.is_served()) {
      who.wait();
    }
  }
  leadership_.retire(who);
  if ((queued_ != 0 || urgent_) && !leadership_.is_taken()) leadership_.wake();
}

// ---- writing

void link::flush() {
  if (queued_ == 0) return;
  std::optional<cut_off> down;
  {
    const std::lock_guard hold{wire_mutex_};
    if (wire_) {
      for (job_ptr& j : take_queue()) put_on_wire(std::move(j));
      return write_out();
    }
    down = down_;
  }
  if (down) fail_queue(*down);
}

void link::put_on_wire(job_ptr j) {
  if (j->talk)
    j->due = j->talk->say(out_);
  else
    out_ += j->command;
  if (owed_.empty()) owed_since_ = clock::now();
  owed_.push_back(std::move(j));
  owed_count_ = owed_.size();
}

void link::write_out() {
  try {
    std::string_view left = out_;
    while (!left.empty()) {
      const std::size_t n = wire_->stream->write_some(left);
      if (n == 0) break;
      left.remove_prefix(n);
    }
    const bool stuck = !left.empty();
    out_.erase(0, out_.size() - left.size());
    if (stuck) leadership_.ring();  // who listens has to wait for both directions now
  } catch (const cut_off&) {
    ::shutdown(wire_->stream->descriptor(), SHUT_RDWR);  // who listens will hear of it
  }
}

// ---- listening

void link::listen(store::caller* who) {
  urgent_ = false;
  try {
    if (fresh_.exchange(false)) read_all();  // something may have come with the greeting
    while (connected_ && !stopping_) {
      flush();
      if (who != nullptr ? who->is_served() : leadership_.has_to_give_way()) return;
      wait_for_bytes(who);
    }
  } catch (const cut_off& c) {
    hang_up(c.why);
  } catch (const parser::garbage& g) {
    hang_up({errc::corrupt_store, "what the server sends is no RESP3: " + g.what});
  } catch (const std::exception& e) {  // out of memory
    hang_up({errc::exhausted, e.what()});
  }
}

void link::wait_for_bytes(store::caller* who) {
  const auto patience = check_health();
  bool writes = wire_->stream->reading_wants_to_write();
  {
    const std::lock_guard hold{wire_mutex_};
    writes = writes || !out_.empty();
  }
  if (who != nullptr && !who->begin_polling(bell_.fd)) return;
  std::array<pollfd, 2> fds{
      pollfd{wire_->stream->descriptor(), static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN), 0},
      pollfd{bell_.fd, POLLIN, 0}};
  const auto limit = std::chrono::ceil<std::chrono::milliseconds>(patience).count();
  const int ready = ::poll(fds.data(), fds.size(), static_cast<int>(limit));
  if (who != nullptr) who->end_polling();
  if (ready <= 0) return;
  if (fds[1].revents != 0) bell_.drain();
  if ((fds[0].revents & POLLOUT) != 0) {
    const std::lock_guard hold{wire_mutex_};
    write_out();
  }
  if (fds[0].revents != 0) read_all();
}

/// Asks a server that has been quiet for long whether it lives, and gives up one that owes answers for too
/// long.
/// \return when to check again.
link::clock::duration link::check_health() {
  const std::lock_guard hold{wire_mutex_};
  const auto now = clock::now();
  if (owed_.empty() && now >= heard_ + settings_.quiet_limit) {
    auto ping = std::make_unique<job>();
    append(ping->command, {"PING"});
    put_on_wire(std::move(ping));
    write_out();
  }
  // Others send meanwhile, and do not disturb who listens: it looks again before what they are owed is
  // overdue.
  if (owed_.empty())
    return std::min<clock::duration>(heard_ + settings_.quiet_limit - now, settings_.answer_limit / 2);
  if (now < owed_since_ + settings_.answer_limit) return owed_since_ + settings_.answer_limit - now;
  throw cut_off{
      {errc::unavailable, "no answer within " + std::to_string(settings_.answer_limit.count()) + " ms"}};
}

void link::read_all() {
  std::vector<value> messages;
  while (true) {
    const std::size_t n = wire_->stream->read_some(buffer_.data(), buffer_.size());
    wire_->parser.feed({buffer_.data(), n});
    while (auto message = wire_->parser.next()) messages.push_back(std::move(*message));
    if (n < buffer_.size() && secure_ == nullptr) break;
    if (n == 0) break;
  }
  take_in(std::move(messages));
}

void link::take_in(std::vector<value> messages) {
  std::vector<job_ptr> heard;
  std::vector<value> pushes;
  bool surplus = false;
  {
    const std::lock_guard hold{wire_mutex_};
    heard_ = owed_since_ = clock::now();
    for (value& m : messages) {
      if (m.is(value::kind::push)) {
        pushes.push_back(std::move(m));
        continue;
      }
      if (owed_.empty()) {
        surplus = true;
        break;
      }
      owed_.front()->heard.push_back(std::move(m));
      if (owed_.front()->heard.size() < owed_.front()->due) continue;
      heard.push_back(std::move(owed_.front()));
      owed_.pop_front();
    }
    owed_count_ = owed_.size();
  }
  std::vector<answered> answers;
  bool demoted = false;
  for (job_ptr& j : heard) {
    proved_ = proved_ || !j->heard[0].is(value::kind::error);
    if (!j->talk) continue;
    demoted = demoted ||
              (j->heard[0].is(value::kind::error) && j->heard[0].text.find("READONLY ") != std::string::npos);
    if (auto outcome = j->talk->hear(std::exchange(j->heard, {}))) {
      answers.push_back({std::move(j->done), std::move(*outcome)});
    } else {
      const std::lock_guard hold{wire_mutex_};
      put_on_wire(std::move(j));
      write_out();
    }
  }
  deliver(std::move(answers), pushes);
  if (surplus) throw parser::garbage{"an answer that nobody has asked for"};
  // After a failover the name of the host may lead to another server, this connection never will.
  if (demoted) throw cut_off{{errc::unavailable, "the server is a replica (READONLY)"}};
}

void link::deliver(std::vector<answered> answers, const std::vector<value>& pushes) {
  bool changed = false;
  std::vector<std::pair<owner_id, store::noticed>> words;
  for (const value& p : pushes) {
    if (p.items.size() >= 3 && p.items[0].text == "message") {
      if (auto w = read_word(p.items[2].text, settings_.speech)) words.push_back(std::move(*w));
    } else if (p.items.size() >= 2 && p.items[0].text == "invalidate") {
      changed = changed || concerns_us(p.items[1]);
    }
  }
  if (!answers.empty() || !words.empty()) {
    const runtime::turn now{loop_, true};
    for (answered& a : answers) a.done(std::move(a.result));
    for (const auto& [owner, what] : words) told_(owner, what);
  }
  if (changed) watchers_.ring();
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

void link::hang_up(const failure& why) {
  std::vector<answered> answers;
  {
    const std::lock_guard hold{wire_mutex_};
    for (const job_ptr& j : owed_) {
      if (j->done) answers.push_back({std::move(j->done), store::trouble{why, true, true}});
    }
    owed_.clear();
    owed_count_ = 0;
    out_.clear();
    former_ = std::move(wire_->kill);
    wire_.reset();
    down_ = cut_off{why};
    connected_ = false;
  }
  deliver(std::move(answers), {});
  leadership_.wake();  // to connect anew
}

// ---- the link's own thread

void link::work() {
  while (!stopping_) {
    if (!connected_) {
      // Not at once where the last connection was good for nothing.
      if (proved_.exchange(false))
        pause_.reset();
      else
        pause();
      connect();
      continue;
    }
    leadership_.rest();
    if (stopping_ || !connected_ || !leadership_.take_in_background()) continue;
    listen(nullptr);
    leadership_.leave();
  }
}

void link::connect() {
  std::string former;
  {
    const std::lock_guard hold{wire_mutex_};
    former = former_;
  }
  try {
    auto made =
        std::make_unique<connection>(dial(settings_, secure_.get(), client_, tracked_, former, stop_.fd));
    const std::vector<value> early = std::move(made->early);
    {
      const std::lock_guard hold{wire_mutex_};
      wire_ = std::move(made);
      heard_ = clock::now();
      former_.clear();
      down_.reset();
      fresh_ = true;
      connected_ = true;
    }
    flush();
    deliver({}, early);
    missed_words();
  } catch (const cut_off& c) {
    give_up(c);
  } catch (const parser::garbage& g) {
    give_up({{errc::corrupt_store, "what answers there is no Redis server: " + g.what}, false});
  } catch (const std::exception& e) {  // out of threads or memory
    give_up({{errc::exhausted, e.what()}});
  }
}

/// Those of the time without a connection are not repeated.
void link::missed_words() {
  if (std::exchange(had_connection_, true)) {
    const runtime::turn now{loop_};
    if (missed_) missed_();
  }
  if (tracked_) watchers_.ring();
}

/// For now. Who asks meanwhile hears why.
void link::give_up(const cut_off& why) {
  {
    const std::lock_guard hold{wire_mutex_};
    down_ = why;
  }
  fail_queue(why);
}

void link::fail_queue(const cut_off& why) {
  const failure what{why.why.code, settings_.place() + ": " + why.why.what};
  std::vector<answered> answers;
  for (const job_ptr& j : take_queue()) {
    if (j->done) answers.push_back({std::move(j->done), store::trouble{what, why.passing, false}});
  }
  deliver(std::move(answers), {});
}

void link::pause() {
  duration how_long{};
  {
    const runtime::turn now{loop_, true};
    how_long = pause_.next(loop_.random());
  }
  std::unique_lock hold{pause_mutex_};
  paused_.wait_for(hold, how_long, [this] { return stopping_.load(); });
}

}  // namespace holdfast::redis
