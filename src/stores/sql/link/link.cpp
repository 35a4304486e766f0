// SPDX-License-Identifier: Apache-2.0
#include "stores/sql/link/link.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "holdfast/error.hpp"

namespace holdfast::sql {

namespace {

using namespace std::chrono_literals;

constexpr duration sweep_every = 1h;
constexpr duration sweep_again = 100ms;  // if one sweep did not remove everything
constexpr std::int64_t sweep_rows = 256;
constexpr auto ping_of_a_session = "withdraw";  // of nothing, since no name is empty

/// The interval of requests on a silent session: short enough that one answer may be lost.
std::chrono::milliseconds quiet_limit_of(const link_settings& s) {
  return s.session ? std::min(s.quiet_limit, *s.session / 3) : s.quiet_limit;
}

}  // namespace

link::link(runtime::event_loop& loop, link_settings s, dialler dial)
    : notifying_link{loop},
      settings_{std::move(s)},
      dial_{std::move(dial)},
      connection_{
          loop, reader(), *this, {settings_.place, settings_.answer_limit, quiet_limit_of(settings_)}},
      changes_{loop, settings_.answer_limit, tracking_actions()} {
  if (settings_.polling) {
    polling_.emplace(loop, client_, *settings_.polling, settings_.answer_limit, polling_actions());
  }
}

void link::shut() {
  connection_.stop();
  reader().stop();
  const runtime::core_lock now{loop(), true};
  changes_.stop();
  if (polling_) polling_->stop();
}

void link::send(tickets::request request, on_reply handler) {
  const bool urgent = !tickets::is_release(request);
  if (polling_) polling_->sent(request);
  claims_ = claims_ || std::holds_alternative<tickets::acquire>(request) ||
            std::holds_alternative<tickets::acquire_all>(request);
  auto c = std::make_unique<pending_call>();
  c->request = std::move(request);
  c->handler = std::move(handler);
  connection_.push(std::move(c), urgent);
}

void link::call_own(call own, answer_handler on_answer) {
  auto c = std::make_unique<pending_call>();
  c->call = std::move(own);
  c->on_answer = std::move(on_answer);
  connection_.push(std::move(c), false);
}

/// For a session it has to prove that: see proves_session.
std::unique_ptr<pending_call> link::ping() const {
  auto c = std::make_unique<pending_call>();
  c->call = settings_.session
                ? sql::call{ping_of_a_session, {parameter::of_text(""), parameter::of_bytes(client_.bytes())}}
                : sql::call{"layout", {}};
  return c;
}

std::optional<runtime::connection_error> wire::retirement() const {
  if (auto end = connection_->ended()) return end;
  if (!connection_->is_bare() || !claims_) return std::nullopt;
  return runtime::connection_error{{errc::unavailable, "the store has no tables yet"}, true, true};
}

void wire::put(pending_call& c) {
  if (c.request) c.call = call_of(*c.request, connection_->client(), session_);
  c.sent_at = boot_clock::now();
  connection_->send(c.call);
}

// ---- the session with which claims end

std::optional<store::time_point> link::session_until() const {
  if (!settings_.session) return std::nullopt;
  if (!proven_) return store::time_point{};
  return *proven_ + *settings_.session - *settings_.session / 100 - 2ms;
}

/// Whether an answer to it shows that the holds of the session go on. A server that was set read-only still
/// answers those who only read, and its successor may grant already: so only a call that it would refuse
/// counts.
bool link::proves_session(const pending_call& c) const {
  if (!settings_.session) return true;
  return c.request ? !tickets::is_read_only(*c.request) : c.call.routine == ping_of_a_session;
}

/// Where other calls keep the line from being silent, and so from pings, they are followed by one.
void link::take_proof(std::optional<store::time_point> proof) {
  if (proof) {
    last_proof_ = *proof;
    is_proof_due_ = false;
    const runtime::core_lock now{loop(), true};
    return extend_session(*proof);
  }
  if (is_proof_due_ || boot_clock::now() < last_proof_ + quiet_limit_of(settings_) / 2) return;
  is_proof_due_ = true;
  connection_.push(ping(), false);
}

/// Calls the handler in steps, because answers arrive often, and the handler may have to move many deadlines.
void link::extend_session(store::time_point sent_at) {
  if (!proven_ || sent_at <= *proven_) return;
  proven_ = sent_at;
  if (sent_at < extended_by_ + *settings_.session / 6) return;
  extended_by_ = sent_at;
  if (on_session_) on_session_();
}

/// All holds of the session are lost before the next session begins. A grant whose handler has not run must
/// not be used in the next session.
void link::on_disconnect() {
  if (!settings_.session) return;
  const runtime::core_lock now{loop(), true};
  session_.reset();
  proven_.reset();
  if (on_session_) on_session_();  // notices that the session has ended
  for (const auto& each : connection_.completed()) {
    if (each->outcome) each->complete();
  }
}

/// Ignores late notifications for a session that is over.
void link::deliver_notifications_of(const owner_id& client, const notifications& received) {
  // With a kick, because this thread does not drive the connection of the calls.
  const runtime::core_lock now{loop()};
  if (session_ == client) pass_on(received);
}

// ---- changes

change_tracking::actions link::tracking_actions() {
  change_tracking::actions a;
  a.inspect = [this](tickets::request r, on_reply handler) { send(std::move(r), std::move(handler)); };
  a.send = [this](call own, change_tracking::rows_handler on_rows) {
    if (!on_rows) return call_own(std::move(own));
    call_for_core(std::move(own), [taken = std::move(on_rows)](const std::vector<row>* rows) {
      if (rows != nullptr) taken(*rows);
    });
  };
  a.notified_for = [this]() -> std::optional<duration> {
    const auto line = connection_.lock();
    return line.get() == nullptr ? std::nullopt : line->get().notified_for();
  };
  a.ring = [this](const store::watched& target) { watchers().ring_only(target); };
  a.flush = [this] { flush_later(); };
  return a;
}

claim_polling::actions link::polling_actions() {
  return {.send = [this](call own,
                         answer_handler on_answer) { call_for_core(std::move(own), std::move(on_answer)); },
          .notify = [this](const store::notification& received) { pass_on({received}); },
          .flush = [this] { flush_later(); }};
}

/// The handler is called under the core lock.
void link::call_for_core(call own, answer_handler on_answer) {
  call_own(std::move(own), [this, answered = std::move(on_answer)](const std::vector<row>* rows) {
    const runtime::core_lock now{loop(), true};
    answered(rows);
  });
}

/// Sends what a timer has queued.
void link::flush_later() {
  loop().defer([this] { connection_.flush(); });
}

// ---- the connection

std::unique_ptr<wire> link::connect(int stop) {
  const store::time_point since = boot_clock::now();
  const owner_id client = settings_.session ? owner_id::random() : client_;
  const std::optional<owner_id> former = settings_.session ? former_client_ : client_;
  auto made = dial_(client, former, claims_ ? provision::tables : provision::none, stop);
  former_client_ = client;
  last_proof_ = since;
  is_proof_due_ = false;
  to_abandon_ = settings_.session ? former : std::nullopt;
  {
    const runtime::core_lock now{loop(), true};
    session_ = client;
    proven_ = extended_by_ = since;
  }
  return std::make_unique<wire>(std::move(made), settings_.session, claims_);
}

void link::on_connected() {
  {
    const runtime::core_lock now{loop(), true};
    if (to_abandon_) call_own({"abandon", {parameter::of_bytes(to_abandon_->bytes())}});
    changes_.begin_anew();
    if (polling_) polling_->begin_anew();
  }
  // The server does not repeat the notifications of the time without a connection.
  if (std::exchange(was_connected_, true)) {
    const runtime::core_lock now{loop()};
    report_gap();
  }
  ring_watchers();
}

void link::read(short /*ready*/) {
  notifications received;
  changes received_changes;
  std::optional<store::time_point> proof;
  {
    auto line = connection_.lock();
    line.throw_if_broken();
    sql::connection& server = line->get();
    for (answer& a : server.proceed()) {
      pending_call& first = *line.first_in_flight();
      first.result = std::move(a);
      if (proves_session(first)) proof = first.sent_at;
      line.finish_first();
      line.heard();
    }
    received = server.take_notifications();
    received_changes = server.take_changes();
  }
  const bool own_changes = interpret_answers();
  if (settings_.session) take_proof(proof);
  deliver(received);
  if (own_changes) ring_watchers();
  if (!received_changes.empty()) {
    const runtime::core_lock now{loop()};
    changes_.notified(received_changes);
  }
}

/// Runs the handlers of completed requests, and passes notifications on.
void link::deliver(const notifications& received) {
  if (connection_.completed().empty() && received.empty()) return;
  {
    const runtime::core_lock now{loop(), true};
    for (const auto& each : connection_.completed()) {
      if (polling_ && each->request && each->outcome) polling_->answered(*each->request, *each->outcome);
    }
    connection_.run_handlers();
    pass_on(received);
  }
  connection_.forget_completed();
}

/// Sets the outcomes of completed requests.
/// \return whether this client made changes, of which the server does not notify it.
bool link::interpret_answers() {
  bool changed = false;
  for (const auto& each : connection_.completed()) {
    if (std::holds_alternative<std::vector<row>>(*each->result)) connection_.on_success();
    if (!each->request) continue;
    if (!tickets::is_read_only(*each->request)) {
      changed = changed || is_tracked();
      sweep_if_due();
    }
    each->outcome = outcome_of(*each);
  }
  // Last, because a handler throws if it does not understand the rows. All requests have outcomes by then.
  for (const auto& each : connection_.completed()) {
    const auto* const rows = std::get_if<std::vector<row>>(&*each->result);
    if (each->on_answer) each->on_answer(rows);
  }
  return changed;
}

link::outcome link::outcome_of(pending_call& c) const {
  if (const auto* refusal = std::get_if<store::request_error>(&*c.result)) {
    store::request_error reason = *refusal;
    reason.reason.message.insert(0, settings_.place + ": ");
    return reason;
  }
  try {
    const auto& rows = std::get<std::vector<row>>(*c.result);
    // A session that has found no tables finds those that are made later: a look may end without a row then,
    // too.
    const auto* const listed = tickets::listed_in(*c.request);
    const bool is_first = listed == nullptr || *listed == nullptr;
    const bool is_nothing_there = rows.empty() && is_first && connection_.wire().get().is_bare();
    return is_nothing_there ? reply_of_nothing(*c.request) : reply_of(*c.request, rows);
  } catch (const std::out_of_range&) {
    return store::request_error{
        {errc::corrupt_store,
         settings_.place + ": the routine '" + c.call.routine +
             "' returned rows of an unexpected form; check that it is Holdfast's (holdfast schema)"},
        false,
        true};
  }
}

/// Between other calls. The first client that does it sweeps for all clients.
void link::sweep_if_due() {
  const auto now = clock::now();
  if (now < next_sweep_) return;
  next_sweep_ = now + sweep_every;
  call_own(sweep_call(settings_.keep_idle, sweep_every, sweep_rows), [this](const std::vector<row>* rows) {
    const bool more =
        rows != nullptr && !rows->empty() && !rows->at(0).empty() && number_at(rows->at(0), 0) != 0;
    if (more) next_sweep_ = clock::now() + sweep_again;
  });
}

}  // namespace holdfast::sql
