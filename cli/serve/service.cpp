// SPDX-License-Identifier: Apache-2.0
#include "serve/service.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <fmt/format.h>
#include <utility>

#include "output/diagnosis.hpp"
#include "output/terminal.hpp"
#include "output/text.hpp"
#include "serve/answers.hpp"
#include "serve/page_files.hpp"

namespace holdfast::cli {

namespace {

using namespace std::chrono_literals;

constexpr auto default_interval = 1s;
/// Of these names the longest wait is read each time: each costs a request.
constexpr std::size_t most_looks = 20;
/// So that the cause of a failure is shown soon, and not after the usual time for retries.
constexpr auto retry_limit = 2s;
constexpr auto status_interval = 15s;
/// Between two readings of all queues for deadlocks, where the locks have changed; and so much more where
/// not.
constexpr duration deadlocks_changed = 5s;
constexpr duration deadlocks_unchanged = 25s;
/// The page waits for an answer for ten seconds. What it has given up must not be done later.
constexpr auto question_limit = 8s;

duration interval_of(const serve_command& request) { return request.interval.value_or(default_interval); }

store_reader::pace pace_of(const serve_command& request) {
  return {.shortest_pause = interval_of(request) / 4, .longest_pause = interval_of(request)};
}

client open_for_serving(const store_choice& store) {
  return open_client(store, client_options{}
                                .flush_limit(duration::zero())
                                .locks(lock_options{}.retry(retry_policy{}.limit(retry_limit))));
}

client_options options_of_doctor(const serve_command& request) {
  client_options options;
  give_password(request.store, options);
  if (request.ttl) options.locks(lock_options{}.ttl(*request.ttl));
  return options;
}

double ago(boot_clock::time_point when) { return to_seconds(boot_clock::now() - when); }

http_reply wrong_method(std::string_view allowed) {
  http_reply reply = error_reply(405, "wrong_method", fmt::format("the method is none of {}", allowed));
  reply.headers.emplace_back("Allow", allowed);
  return reply;
}

http_reply page_reply(const std::string& path) {
  const auto wanted = path == "/" ? "/index.html" : path;
  const auto files = page_files();
  const auto found = std::ranges::find(files, wanted, &page_file::path);
  if (found == files.end()) return error_reply(404, "not_found", "there is nothing of that name");
  http_reply reply;
  reply.content_type = content_type_of(found->path);
  reply.body = {share(std::string{found->content})};
  return reply;
}

}  // namespace

service::service(const serve_command& request, access_rules rules, release_secret secret, poster post)
    : store_{open_for_serving(request.store)},
      doctor_url_{url_of(request.store)},
      doctor_options_{options_of_doctor(request)},
      interval_{interval_of(request)},
      rules_{std::move(rules)},
      secret_{std::move(secret)},
      post_{std::move(post)},
      metrics_{printable(store_.url())},
      questions_{most_questions},
      investigations_{most_investigations},
      changes_{most_changes},
      doctor_{2},  // the next one may be asked for when the last one has just been told
      reader_{store_, pace_of(request)} {}

void service::take() {
  if (auto seen = reader_.take()) {
    metrics_.count(seen->locks, seen->when);
    const auto before = keeper_.last().revision;
    const auto change = keeper_.update(std::move(*seen));
    const snapshot& now = keeper_.last();
    metrics_.add(keeper_.waits(), history_.update(keeper_.previous(), now));
    if (now.revision != before) feed_.add_change(now.revision, change_event(now, change));
    reader_.want(keeper_.waits().names_to_look_at(most_looks), {}, keeper_.waits().has_unknown());
    if (problem_ && problem_->when < now.taken_at) problem_.reset();
  }
  if (auto news = reader_.take_message(); news && news->when > keeper_.last().taken_at)
    problem_ = std::move(news);
  announce_status(false);
  wake_streams_();
}

void service::tick() {
  const auto now = boot_clock::now();
  questions_.expire(now);
  investigations_.expire(now);
  changes_.expire(now);
  queues_.expire();
  count_deadlocks();
  announce_status(now - announced_at_ >= status_interval);
  wake_streams_();
}

/// A deadlock ends by nothing but a person, who has to learn of it. So the queues are read for it: soon after
/// a change of the locks, else now and then, and for a twentieth of the time at most.
void service::count_deadlocks() {
  const auto now = boot_clock::now();
  const snapshot& last = keeper_.last();
  if (!is_up()) deadlocks_.reset();
  if (!is_up() || last.revision == 0 || is_counting_deadlocks_) return;
  const auto unchanged = last.revision == deadlocks_revision_ ? deadlocks_unchanged : duration::zero();
  if (now < count_again_at_ + unchanged) return;
  deadlocks_revision_ = last.revision;
  if (std::ranges::none_of(last.rows, [](const lock_row& row) { return row.lock.waiters != 0; })) {
    deadlocks_ = 0;
    return;
  }
  const auto finish = [this](std::optional<std::size_t> count, boot_clock::duration took) {
    is_counting_deadlocks_ = false;
    deadlocks_ = count;
    count_again_at_ = boot_clock::now() + std::max<boot_clock::duration>(deadlocks_changed, 19 * took);
    announce_status(false);
    wake_streams_();
  };
  const investigation_cache::need need{.asked_at = now, .changed_at = changed_at_};
  is_counting_deadlocks_ = investigations_.add({.run = [this, need, finish] {
    const auto began = boot_clock::now();
    std::optional<std::size_t> count;
    try {
      count = queues_.get(need, [this] { return read_queues(store_); }).found.deadlocks.size();
    } catch (const std::exception&) {  // it stays unknown, and whoever asks for them gets the error
    }
    post_([finish, count, took = boot_clock::now() - began] { finish(count, took); });
  }});
}

void service::announce_status(bool is_due) {
  json now = status();
  auto text = dumped(now);
  now.erase("answered_ago_s");
  auto without_age = dumped(now);
  if (!is_due && without_age == announced_status_) return;
  announced_status_ = std::move(without_age);
  announced_at_ = boot_clock::now();
  feed_.set_status(event_text("status", text));
  log_outage();
}

/// For the journal of the service, which is where operators look first. A line when an outage begins, one
/// with its cause if that is known later, and one at its end.
void service::log_outage() {
  const auto problem = store_problem();
  const outage now = !problem ? outage::none : problem_ ? outage::explained : outage::unexplained;
  const bool is_news = now == outage::none ? logged_ != outage::none : now > logged_;
  if (!is_news) return;
  logged_ = now;
  complain(fmt::format("holdfast serve: {}\n", problem ? printable(*problem) : "the store answers again"));
}

std::optional<std::string> service::store_problem() const {
  if (problem_) return without_secrets(problem_->text);
  const auto silence = boot_clock::now() - reader_.answered_at().value_or(began_);
  if (silence <= overdue_after(interval_, reader_.reading_time())) return std::nullopt;
  return "the store does not answer";
}

bool service::is_up() const { return reader_.answered_at() && !store_problem(); }

json service::status() const {
  const auto answered_at = reader_.answered_at();
  const auto problem = store_problem();
  json object{
      {"store", store_.url()}, {"version", version()}, {"allows_release", static_cast<bool>(secret_)}};
  object["answered_ago_s"] = answered_at ? json(ago(*answered_at)) : json(nullptr);
  object["error"] = problem ? json(*problem) : json(nullptr);
  object["deadlocks"] = deadlocks_ ? json(*deadlocks_) : json(nullptr);
  return object;
}

/// Null: it is too large, and is not made to its end.
shared_text service::change_event(const snapshot& now, const snapshot_change& change) const {
  const auto removed = dumped(change.removed, event_feed::most_bytes);
  if (!removed) return nullptr;
  std::string changed;
  for (const auto* const row : change.changed) {
    if (!changed.empty()) changed += ',';
    changed += dumped(describe(*row, now.taken_at));
    if (changed.size() > event_feed::most_bytes) return nullptr;
  }
  return event_text(
      "change", fmt::format(R"({{"revision":{},"taken_ago_s":{},"total":{},"changed":[{}],"removed":{}}})",
                            now.revision, ago(now.taken_at), now.total, changed, *removed));
}

text_parts service::next_event(event_cursor& reader) {
  return feed_.next(reader, [this] {
    const auto now = boot_clock::now();
    const listing& last = listings_.get(keeper_.last(), now);
    return event_feed::snapshot{last.revision, event_parts("snapshot", last.describe(now))};
  });
}

http_reply service::locks_reply() {
  if (keeper_.last().revision == 0)
    return error_reply(503, "unavailable", store_problem().value_or("the store has not answered yet"));
  const auto now = boot_clock::now();
  http_reply reply;
  reply.body = listings_.get(keeper_.last(), now).describe(now);
  reply.body.push_back(share("\n"));
  return reply;
}

http_reply service::metrics_reply(const http_request& request) const {
  const bool is_open_metrics = request.accept.find("application/openmetrics-text") != std::string::npos;
  http_reply reply;
  reply.content_type = is_open_metrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                       : "text/plain; version=0.0.4; charset=utf-8";
  reply.body = {share(metrics_.text(is_up(), boot_clock::now(), is_open_metrics, deadlocks_))};
  reply.is_always_sent = true;  // while slow readers keep much, somebody has to see it
  return reply;
}

http_reply service::health_reply() const {
  if (is_up()) return text_reply(200, "ok\n");
  const auto answered_at = reader_.answered_at();
  const auto since = answered_at
                         ? fmt::format("has not answered for {}",
                                       to_text(std::chrono::duration_cast<duration>(
                                           std::chrono::seconds{static_cast<long>(ago(*answered_at))})))
                         : std::string{"has not answered yet"};
  const auto cause = problem_ ? ": " + without_secrets(problem_->text) : std::string{};
  return text_reply(503, fmt::format("the store {}{}\n", since, printable(cause)));
}

http_reply service::answer_now(const http_request& request, const route& where) {
  switch (where.to) {
    case endpoint::status: return json_reply(status());
    case endpoint::locks: return locks_reply();
    case endpoint::timeline: {
      const auto known = history_.describe(where.name, boot_clock::now());
      return known.is_null() ? error_reply(404, "unknown_name", "this server has seen no hold of that name")
                             : json_reply(known);
    }
    case endpoint::events: {
      http_reply reply;
      reply.content_type = "text/event-stream";
      reply.is_event_stream = true;
      return reply;
    }
    case endpoint::metrics: return metrics_reply(request);
    case endpoint::health: return health_reply();
    case endpoint::malformed:
      return error_reply(400, "invalid_target", "after each % there must be two hexadecimal digits");
    default: return page_reply(where.name);
  }
}

void service::handle(const http_request& request, const handler& done) {
  const auto where = route_of(request.target);
  if (auto refusal = rules_.refuse(request, where.to == endpoint::page)) return done(*std::move(refusal));
  if (where.to == endpoint::ask || where.to == endpoint::release) return change(request, where, done);
  if (request.method != "GET" && request.method != "HEAD") return done(wrong_method("GET, HEAD"));
  const auto& name = where.name;
  switch (where.to) {
    case endpoint::lock:
      return ask_store(questions_, [name](const client& locks) { return answer_lock(locks, name); }, done);
    case endpoint::chain:
      return ask_queues(
          [name](const client& locks, investigation_cache::dated last) {
            return answer_why(locks, std::move(last), name);
          },
          done);
    case endpoint::deadlocks:
      return ask_queues(
          [](const client&, const investigation_cache::dated& last) { return answer_deadlocks(last); }, done);
    case endpoint::doctor: return diagnose_store(where.is_fresh, done);
    default: return done(answered([&] { return answer_now(request, where); }));
  }
}

void service::ask_store(worker& queue, question ask, const handler& done) {
  const bool is_accepted = queue.add(
      {.run =
           [this, ask = std::move(ask), done] {
             auto reply = answered([&] { return ask(store_); });
             post_([done, reply = std::move(reply)] { done(reply); });
           },
       .deadline = boot_clock::now() + question_limit,
       .expire = [this, done] { post_([done] { done(busy_reply("the store was not asked in time")); }); }});
  if (!is_accepted) done(busy_reply("too many requests wait for the store"));
}

void service::ask_queues(question_of_queues ask, const handler& done) {
  const investigation_cache::need need{.asked_at = boot_clock::now(), .changed_at = changed_at_};
  ask_store(
      investigations_,
      [this, ask = std::move(ask), need](const client& locks) {
        return ask(locks, queues_.get(need, [&] { return read_queues(locks); }));
      },
      done);
}

}  // namespace holdfast::cli
