#include "stores/sql/link/link.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "holdfast/error.hpp"

namespace holdfast::sql {

using runtime::connection_error;
using tickets::task;

namespace {

using namespace std::chrono_literals;

constexpr duration sweep_every = 1h;
constexpr duration sweep_again = 100ms;  // where there was more than one sweep takes
constexpr std::int64_t sweep_rows = 256;
constexpr duration look_every = 500ms;  // for changes, where the server cannot tell of them

/// A session that is silent is asked for often enough that an answer may get lost in time.
std::chrono::milliseconds quiet_limit_of(const link_settings& s) {
  return s.session ? std::min(s.quiet_limit, *s.session / 3) : s.quiet_limit;
}

connection_error no_tables() { return {{errc::unavailable, "there are no tables yet"}, true, true}; }

bool is_release(task what) { return what == task::release || what == task::withdraw; }
bool only_reads(task what) { return what == task::inspect || what == task::list || what == task::find; }

}  // namespace

link::link(runtime::event_loop& on, link_settings s, dialler dial)
    : link_on_line{on, {s.place, s.answer_limit, quiet_limit_of(s)}},
      settings_{std::move(s)},
      dial_{std::move(dial)} {}

void link::shut() {
  multiplexed_connection::shut();
  const runtime::core_lock now{loop_, true};
  loop_.cancel(std::exchange(next_look_, 0));
  loop_.cancel(std::exchange(next_track_, 0));
}

void link::send(tickets::request what, on_reply done) {
  const bool urgent = !is_release(what.what);
  if (what.what == task::acquire) claims_ = true;
  auto j = std::make_unique<asked>();
  j->request = std::move(what);
  j->done = std::move(done);
  enqueue(std::move(j), urgent);
}

/// Something of the link's own.
void link::ask(call what, std::function<void(const std::vector<row>&)> heard) {
  auto j = std::make_unique<asked>();
  j->what = std::move(what);
  j->heard = std::move(heard);
  enqueue(std::move(j), false);
}

runtime::multiplexed_connection::job_ptr link::ping() const {
  auto j = std::make_unique<asked>();
  j->what = {"layout", {}};
  return j;
}

// ---- the session that claims end with

std::optional<store::time_point> link::session_until() const {
  if (!settings_.session) return std::nullopt;
  if (!proven_) return store::time_point{};
  return *proven_ + *settings_.session - *settings_.session / 100 - 2ms;
}

void link::begin_session(const owner_id& client, store::time_point since) {
  session_ = client;
  proven_ = extended_by_ = since;
}

void link::end_session() {
  session_.reset();
  proven_.reset();
  if (extended_) extended_();  // which finds that it has ended
}

/// Who keeps deadlines is told in steps: there may be many of them, and answers come often.
void link::lived(store::time_point sending) {
  if (!proven_ || sending <= *proven_) return;
  proven_ = sending;
  if (sending < extended_by_ + *settings_.session / 6) return;
  extended_by_ = sending;
  if (extended_) extended_();
}

/// All that the session held is lost, before there is another. What it was granted and has not heard of yet
/// must not be believed in the next.
void link::on_hang_up() {
  if (!settings_.session) return;
  const runtime::core_lock now{loop_, true};
  end_session();
  for (const job_ptr& each : answered()) {
    if (each && static_cast<const asked&>(*each).result) each->tell();
  }
}

/// Those of a session that is over may come late, and are not believed either.
void link::deliver_words(const owner_id& client, const words& all) {
  const runtime::core_lock now{loop_};  // with a kick: who delivers them does not drive the line of the calls
  if (session_ == client) pass_on(all);
}

// ---- changes

void link::track(bool on) {
  loop_.cancel(std::exchange(next_look_, 0));
  loop_.cancel(std::exchange(next_track_, 0));
  std::optional<call> said;
  {
    const std::lock_guard hold{wire_mutex_};
    if (!wire_) return;
    if (!wire_->is_bare()) said = wire_->tracking(on);
  }
  if (said) {
    ask(std::move(*said), [this, on](const std::vector<row>& /*nothing*/) {
      if (on) server_tells();
    });
  }
  if (on) {
    look_later();
    track_again();
  }
}

/// Under the core lock. At a third of the time for which the server notifies: two of these calls may be late.
void link::track_again() {
  duration lasts{};
  {
    const std::lock_guard hold{wire_mutex_};
    if (wire_) lasts = wire_->tracking_lasts();
  }
  if (lasts == duration::zero()) return;
  const auto due = loop_.now() + lasts / 3;
  next_track_ = loop_.at(due, [this, due, lasts] {
    next_track_ = 0;
    if (!is_tracked()) return;
    if (loop_.now() > due + lasts / 2) {
      track(true);  // this process has been stopped: changes may have been missed
    } else {
      std::optional<call> said;
      {
        const std::lock_guard hold{wire_mutex_};
        if (wire_) said = wire_->tracking(true);
      }
      if (said) ask(std::move(*said));
      track_again();
    }
    loop_.defer([this] { flush(); });
  });
}

/// Under the core lock. Until the server tells, there may have been changes, as far as anybody knows.
void link::look_later() {
  next_look_ = loop_.at(loop_.now() + look_every, [this] {
    loop_.defer([this] { ring_watchers(); });
    look_later();
  });
}

/// From now on. Not of what was changed before, nor of calls that were under way: who made those either has
/// its answer before `answer_limit`, or believes that there will be none.
void link::server_tells() {
  const runtime::core_lock now{loop_, true};
  loop_.cancel(std::exchange(next_look_, 0));
  if (!is_tracked()) return;
  loop_.defer([this] { ring_watchers(); });
  next_look_ = loop_.at(loop_.now() + settings_.answer_limit, [this] {
    next_look_ = 0;
    loop_.defer([this] { ring_watchers(); });
  });
}

// ---- the wire

void link::reconnect(int stop) {
  const store::time_point since = boot_clock::now();
  const owner_id client = settings_.session ? owner_id::random() : client_;
  const std::optional<owner_id> former = settings_.session ? last_ : client_;
  auto made = dial_(client, former, claims_ ? provision::tables : provision::none, stop);
  last_ = client;
  {
    const runtime::core_lock now{loop_, true};
    begin_session(client, since);
  }
  use([&] { wire_ = std::move(made); });
  const runtime::core_lock now{loop_, true};
  if (settings_.session && former) ask({"abandon", {parameter::of_bytes(former->bytes())}});
  if (is_tracked()) track(true);
}

bool link::has_room(std::size_t owed) const {
  return owed < wire_->depth() && !wire_->ended() && !needs_tables();
}

/// Tables are made by the next connection, once this one has answered what it owes.
void link::write_out() {
  if (!needs_tables() || first_owed() != nullptr) return;
  prove();  // it need not be waited for
  throw no_tables();
}

void link::put_on_wire(job& j) {
  auto& next = static_cast<asked&>(j);
  if (next.done) next.what = call_of(next.request, wire_->client(), settings_.session);
  if (const auto names = wire_->page_size(); next.done && next.request.what == task::list && names > 0) {
    next.what =
        page_call(next.request.idle, next.listed.empty() ? "" : text_at(next.listed.back(), 0), names);
  }
  next.since = boot_clock::now();
  wire_->send(next.what);
}

void link::hear(short /*ready*/) {
  words told;
  bool changed = false;
  std::optional<store::time_point> proof;
  {
    const std::lock_guard hold{wire_mutex_};
    if (down_) throw connection_error{*down_};  // somebody has found it broken when sending
    for (answer& a : wire_->proceed()) {
      auto& first = static_cast<asked&>(*first_owed());
      first.said = std::move(a);
      proof = first.since;
      take_first();
      heard_now();
    }
    told = wire_->take_words();
    changed = wire_->take_change();
    // All else that was sent has been refused as well.
    if (first_owed() == nullptr && !down_) down_ = wire_->ended();
    if (first_owed() == nullptr && !down_ && needs_tables()) {
      prove();
      down_ = no_tables();
    }
  }
  changed = conclude() || changed;
  if (proof && settings_.session) {
    const runtime::core_lock now{loop_, true};
    lived(*proof);
  }
  deliver(told);
  if (changed) ring_watchers();
}

/// What the answers come to.
/// \return whether there are changes by ourselves, of which nobody else tells.
bool link::conclude() {
  bool changed = false;
  for (std::size_t i = 0; i < answered().size(); ++i) {
    auto& j = static_cast<asked&>(*answered()[i]);
    if (std::holds_alternative<std::vector<row>>(*j.said)) prove();
    if (!j.done) continue;
    if (has_more(j)) {
      send_again(i);
      continue;
    }
    if (!only_reads(j.request.what)) {
      changed = changed || is_tracked();
      sweep_if_due();
    }
    j.result = understood(j);
  }
  // Last, since it throws where it does not understand: all others have their results by then.
  for (const job_ptr& each : answered()) {
    if (each == nullptr) continue;
    const auto& j = static_cast<const asked&>(*each);
    const auto* const rows = std::get_if<std::vector<row>>(&*j.said);
    if (j.heard && rows != nullptr) j.heard(*rows);
  }
  return changed;
}

/// A listing that comes in pages ends with an empty one. Between two of them other calls have their turn.
bool link::has_more(asked& j) const {
  auto* const rows = std::get_if<std::vector<row>>(&*j.said);
  if (j.what.routine != "page" || rows == nullptr) return false;
  const bool more = !rows->empty();
  std::move(rows->begin(), rows->end(), std::back_inserter(j.listed));
  if (more) {
    j.said.reset();
  } else {
    *rows = std::move(j.listed);
  }
  return more;
}

/// What the answer says to who asked.
link::outcome link::understood(const asked& j) const {
  if (const auto* why = std::get_if<store::trouble>(&*j.said)) {
    store::trouble told = *why;
    told.what.message.insert(0, settings_.place + ": ");
    return told;
  }
  try {
    const auto& rows = std::get<std::vector<row>>(*j.said);
    return rows.empty() && wire_->is_bare() ? reply_of_nothing(j.request) : reply_of(j.request, rows);
  } catch (const std::exception&) {
    return store::trouble{{errc::corrupt_store, settings_.place + ": the routine '" + j.what.routine +
                                                    "' answers what none of ours does"},
                          false,
                          true};
  }
}

/// Between other calls: whichever client gets to it first sweeps for all.
void link::sweep_if_due() {
  const auto now = clock::now();
  if (now < next_sweep_) return;
  next_sweep_ = now + sweep_every;
  ask(sweep_call(settings_.keep_idle, sweep_every, sweep_rows), [this](const std::vector<row>& rows) {
    const bool more = !rows.empty() && !rows[0].empty() && number_at(rows[0], 0) != 0;
    if (more) next_sweep_ = clock::now() + sweep_again;
  });
}

}  // namespace holdfast::sql
