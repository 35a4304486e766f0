// SPDX-License-Identifier: Apache-2.0
#include "stores/mariadb/link/listener.hpp"

#include <array>
#include <poll.h>

#include "runtime/io_deadline.hpp"
#include "runtime/signals.hpp"
#include "stores/mariadb/link/dial.hpp"
#include "stores/mariadb/protocol/schema.hpp"
#include "stores/sql/protocol/notification.hpp"

namespace holdfast::mariadb {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr std::chrono::seconds nap{
    15};  // the time of one call; then the next call shows that the server lives
constexpr milliseconds first_pause = 50ms;
constexpr milliseconds longest_pause = 5s;

}  // namespace

listener::listener(settings to, std::function<void(const owner_id&, const notifications&)> handler)
    : to_{std::move(to)}, handler_{std::move(handler)} {
  thread_ = runtime::quiet_thread([this] { work(); });
}

void listener::serve(const owner_id& client) {
  {
    const annotated::lock held{mutex_};
    if (std::exchange(client_, client) == client) return;
    interrupt_.ring();  // with the mutex locked: see wait_to_begin
  }
  changed_.notify_one();
}

void listener::begin() {
  {
    const annotated::lock held{mutex_};
    if (std::exchange(wanted_, true)) return;
  }
  changed_.notify_one();
}

void listener::shut() {
  {
    const annotated::lock held{mutex_};
    stopping_ = true;
    interrupt_.ring();
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

/// \return the client to serve; empty: stop.
std::optional<owner_id> listener::wait_to_begin() {
  const annotated::lock held{mutex_};
  while (!stopping_ && !(wanted_ && client_)) changed_.wait(mutex_);
  if (stopping_) return std::nullopt;
  interrupt_.drain();  // with the mutex locked: it was for changes that are known by now
  return client_;
}

/// Pauses; ends early if there is another client to serve.
void listener::pause(const owner_id& client, milliseconds length) {
  const auto end = std::chrono::steady_clock::now() + length;
  const annotated::lock held{mutex_};
  while (!stopping_ && client_ == client && changed_.wait_until(mutex_, end) == std::cv_status::no_timeout) {
  }
}

void listener::work() {
  milliseconds wait = first_pause;
  while (const auto client = wait_to_begin()) {
    const auto since = std::chrono::steady_clock::now();
    try {
      listen(*client);
    } catch (...) {
      const auto reason = runtime::caught_connection_error().reason;
      if (reason.code == errc::closed) continue;  // interrupted: to stop, or to serve another
    }
    if (std::chrono::steady_clock::now() - since > longest_pause)
      wait = first_pause;  // the connection worked
    pause(*client, wait);
    wait = std::min(longest_pause, wait * 2);
  }
}

/// Listens until the session breaks, or another client is to be served.
void listener::listen(const owner_id& client) {
  const auto over =
      dial(to_, client, client, role::notifications, sql::provision::none, interrupt_.descriptor());
  while (true) {
    const sql::answer said = ask(*over);
    if (const auto* rows = std::get_if<std::vector<sql::row>>(&said)) {
      const notifications received = take_in(*rows);
      if (!received.empty()) handler_(client, received);
      continue;
    }
    const auto& reason = std::get<store::request_error>(said);
    if (!reason.maybe_executed)
      throw runtime::connection_error{reason.reason};  // otherwise interrupted: there is a notification
  }
}

sql::answer listener::ask(sql::connection& over) const {
  runtime::io_deadline limit{to_.link.answer_limit + nap, interrupt_.descriptor()};
  limit.begin("a notification");
  over.send({"listen",
             {sql::parameter::of_bytes(over.client().bytes()), sql::parameter::of_bytes(seen_),
              sql::parameter::of(std::int64_t{nap.count()})}});
  while (true) {
    limit.wait(over.descriptor(), over.events());
    std::vector<sql::answer> answers = over.proceed();
    if (!answers.empty()) return std::move(answers.front());
  }
}

listener::notifications listener::take_in(const std::vector<sql::row>& rows) {
  notifications received;
  seen_.clear();
  for (const sql::row& r : rows) {
    const auto owner = r.size() == 2 ? owner_id::from_bytes(sql::text_at(r, 0)) : std::nullopt;
    if (!owner)
      throw runtime::connection_error{
          {errc::corrupt_store, "the server sent a notification that is not Holdfast's"}};
    const std::int64_t token = sql::number_at(r, 1);
    received.push_back(sql::notification_of(*owner, token));
    seen_ += sql::mariadb::seen_notification(*owner, token);
  }
  return received;
}

}  // namespace holdfast::mariadb
