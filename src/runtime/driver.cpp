// SPDX-License-Identifier: Apache-2.0
#include "runtime/driver.hpp"

#include <algorithm>
#include <cassert>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "core/acquisition.hpp"
#include "core/questions.hpp"
#include "holdfast/error.hpp"
#include "runtime/driver_operation.hpp"

namespace holdfast::runtime {

using tickets::reply;

namespace {

store::request_error no_joint_answer() {
  return {{errc::corrupt_store, "the store gave an answer to several requests that is none"}, false, true};
}

/// One request of several claims, or of several releases.
template <class SentRequests>
tickets::request joint_of(const SentRequests& parts) {
  tickets::acquire_all claims;
  tickets::release_all ends;
  for (const auto& each : parts) {
    if (const auto* const made = std::get_if<tickets::acquire>(&each.request)) {
      claims.claims.push_back(made->claim);
    } else {
      ends.holds.push_back(std::get<tickets::release>(each.request));
    }
  }
  if (claims.claims.empty()) return ends;
  return claims;
}

}  // namespace

driver::driver(store::scheduler& time, tickets::link& to) : time_{time}, link_{to} {
  link_.on_notifications([this](const store::notification& n) { on_notification(n); });
  link_.on_gap([this] {
    everybody_looks();
    if (gap_) gap_();
  });
}

driver::~driver() {
  for (const auto& op : running_) time_.cancel(op->timer);
}

template <class Machine, class Result, class... Arguments>
void driver::start(store::handler<Result>&& done, const owner_id& claimant, Arguments&&... of_machine) {
  running_.push_back(std::make_unique<operation_of<Machine, Result>>(std::move(done),
                                                                     std::forward<Arguments>(of_machine)...));
  operation& op = *running_.back();
  op.number = ++last_number_;
  op.position = running_.size() - 1;
  ++busy_;
  if (claimant != owner_id{}) {
    op.owner = claimant;
    [[maybe_unused]] const bool is_new = claiming_.emplace(claimant, &op).second;
    assert(is_new);
  }
  feed(op, store::started{});
}

template <class Question, class Result>
void driver::ask(Question&& question, const tickets::limits& until, store::handler<Result>&& done) {
  start<tickets::call<Question>>(std::move(done), {}, std::move(question), retry_policy{}, until);
}

void driver::together(const std::function<void()>& begin) {
  if (gathered_ || !link_.joins({})) return begin();
  gathered_.emplace();
  begin();
  std::vector<sent_request> tries;
  std::vector<sent_request> ends;
  auto all = *std::exchange(gathered_, std::nullopt);
  for (sent_request& each : all) {
    const auto* const made = std::get_if<tickets::acquire>(&each.request);
    if (made != nullptr && !made->claim->wait) {
      tries.push_back(std::move(each));
    } else if (std::holds_alternative<tickets::release>(each.request)) {
      ends.push_back(std::move(each));
    } else {
      send(*each.by, std::move(each.request));
    }
  }
  send_together(tries);
  send_together(ends);
}

/// In the order of their names, as all do: two that lock the rows of several names at a server do not wait
/// for each other.
void driver::send_together(std::span<sent_request> all) {
  std::sort(all.begin(), all.end(), [](const sent_request& one, const sent_request& other) {
    return name_of(one.request) < name_of(other.request);
  });
  while (!all.empty()) {
    const auto part = all.first(std::min(all.size(), tickets::most_in_one));
    all = all.subspan(part.size());
    std::vector<std::string_view> names;
    names.reserve(part.size());
    for (const sent_request& each : part) names.push_back(name_of(each.request));
    if (part.size() == 1 || !link_.joins(names)) {
      for (sent_request& each : part) send(*each.by, std::move(each.request));
      continue;
    }
    tickets::request joint = joint_of(part);
    auto sent = std::make_shared<const std::vector<sent_request>>(part.begin(), part.end());
    const std::uint64_t number = number_of(joint);
    for (const sent_request& each : part) each.by->request = number;
    link_.send(std::move(joint), {number, [this, sent = std::move(sent)](const tickets::link::outcome& o) {
                                    on_joint_reply(*sent, o);
                                  }});
  }
}

void driver::acquire(store::claim_ptr claim, store::handler<store::acquired> done) {
  const owner_id owner = claim->owner;
  start<tickets::acquisition>(std::move(done), owner, std::move(claim));
}

void driver::cancel(const owner_id& owner) {
  const auto found = claiming_.find(owner);
  if (found == claiming_.end()) return;
  found->second->forget_user();
  feed(*found->second, store::cancelled{});
}

std::optional<failure> driver::error_now(const owner_id& owner) {
  const auto error = [&]() -> std::optional<failure> {
    const auto found = claiming_.find(owner);
    return found == claiming_.end() ? std::nullopt : found->second->error_at(time_.now());
  };
  auto now = error();
  return now && take_back(*claiming_.at(owner)) ? error() : now;
}

void driver::renew(std::vector<store::hold> holds, store::time_point answer_by,
                   store::handler<store::renewals> done) {
  ask(tickets::renewing{{}, std::move(holds), answer_by}, {time_.now(), answer_by}, std::move(done));
}

void driver::release(store::hold hold, store::time_point give_up, store::handler<store::released> done) {
  ask(tickets::ending{std::move(hold)}, give_up, std::move(done));
}

void driver::expire_at(store::hold hold, store::time_point until, store::time_point give_up,
                       store::handler<store::released> done) {
  ask(tickets::ending{std::move(hold), until}, give_up, std::move(done));
}

void driver::downgrade(store::hold hold, store::time_point give_up, store::handler<store::lowered> done) {
  ask(tickets::changing<tickets::downgrade>{{}, {std::move(hold)}}, give_up, std::move(done));
}

void driver::annotate(store::hold hold, std::shared_ptr<const std::string> metadata,
                      store::time_point give_up, store::handler<store::annotated> done) {
  ask(tickets::changing<tickets::annotate>{{}, {std::move(hold), std::move(metadata)}}, give_up,
      std::move(done));
}

void driver::inspect(std::string name, std::size_t most_waiters, store::time_point give_up,
                     store::handler<store::inspected> done) {
  ask(tickets::inspecting{{}, {std::move(name), most_waiters}}, give_up, std::move(done));
}

void driver::list(bool idle, store::time_point give_up, store::handler<store::listed> done) {
  ask(tickets::listing{{}, {idle}}, give_up, std::move(done));
}

void driver::force_release(std::string name, std::optional<fencing_token> token, store::time_point give_up,
                           store::handler<store::forced> done) {
  inspect(name, 0, give_up,
          [this, name, token, give_up, done = std::move(done)](store::inspected answer) mutable {
            if (auto* reason = std::get_if<failure>(&answer)) return done(std::move(*reason));
            auto holds = tickets::forcing::of(name, std::get<std::optional<lock_state>>(answer), token);
            if (!holds) return done(std::size_t{0});
            ask(std::move(*holds), give_up, std::move(done));
          });
}

void driver::request_release(std::string name, std::optional<fencing_token> token, std::string reason,
                             store::time_point give_up, store::handler<store::notified> done) {
  ask(tickets::requesting_release{{}, std::move(name), token, std::move(reason)}, give_up, std::move(done));
}

std::shared_ptr<void> driver::watch(store::watched target, std::function<void()> changed) {
  return link_.watch(std::move(target), std::move(changed));
}

void driver::on_revoked(std::function<void(const owner_id&, fencing_token)> handler) {
  revoked_ = std::move(handler);
}

void driver::on_release_requested(std::function<void(const owner_id&)> handler) {
  release_requested_ = std::move(handler);
}

void driver::on_gap(std::function<void()> missed) { gap_ = std::move(missed); }

std::optional<store::time_point> driver::session_until() const { return link_.session_until(); }

void driver::on_session(const std::function<void()>& extended) { link_.on_session(extended); }

void driver::when_idle(std::function<void()> action) {
  idle_ = [this, action = std::move(action)]() mutable { link_.when_delivered(std::move(action)); };
  tell_if_idle();
}

void driver::abandon() {
  for (std::size_t next = 0; next < running_.size();) {
    operation& op = *running_[next];
    if (op.finished) {
      ++next;  // it waits for its last reply
    } else {
      feed(op,
           store::replied<reply>{store::request_error{{errc::closed, "the client was closed"}, false, true}});
    }
  }
}

void driver::feed(operation& op, const store::event<reply>& e) noexcept {
  auto wants = op.resume(time_.now(), time_.random(), e);
  if (journal_ != nullptr) op.report(*journal_);
  if (op.timer != 0 && (wants.wake_at || wants.send || wants.finished))
    time_.cancel(std::exchange(op.timer, 0));
  if (wants.wake_at) op.timer = time_.at(*wants.wake_at, [this, &op] { on_time(op); });
  if (wants.send) {
    ++op.replies_due;
    if (gathered_) {
      gathered_->emplace_back(&op, std::move(*wants.send));
    } else {
      send(op, std::move(*wants.send));
    }
  }
  const bool was_busy = !op.in_vain;
  op.in_vain = op.in_vain || wants.in_vain;
  op.finished = wants.finished;
  if (was_busy && (op.in_vain || op.finished)) --busy_;
  if (!op.finished) {
    op.give_answer();  // whose user may end the operation: it is not used any more
    if (wants.in_vain) tell_if_idle();
    return;
  }
  if (op.owner != owner_id{}) claiming_.erase(op.owner);
  const auto ended = op.replies_due != 0 ? nullptr : take_out(op);
  const bool is_release_requested = op.is_release_requested;
  const owner_id owner = op.owner;
  op.give_answer();
  if (is_release_requested && release_requested_) release_requested_(owner);
  tell_if_idle();
}

void driver::on_reply(operation& op, tickets::link::outcome&& o) noexcept {
  assert(op.replies_due != 0);
  --op.replies_due;
  if (taking_back_ == &op) taking_back_ = nullptr;
  if (!op.finished) {
    doubt_ended_session(o);
    feed(op, store::event<reply>{std::in_place_type<store::replied<reply>>, std::move(o)});
  } else if (op.replies_due == 0) {
    static_cast<void>(take_out(op));
  }
}

/// An operation that waits for the reply to a request that never left learns that.
void driver::on_time(operation& op) {
  if (!take_back(op)) feed(op, store::woken{});
}

/// Only a request that was sent may be carried out. \return whether the request was answered, as not sent:
/// the operation may have ended.
bool driver::take_back(const operation& op) {
  const operation* const outer = taking_back_;
  taking_back_ = &op;
  std::uint64_t tried = 0;
  // Each part of a joint request that is taken back is sent again by itself.
  while (taking_back_ == &op && op.replies_due != 0 && op.request != tried) {
    tried = op.request;
    link_.take_back(tried);
  }
  return std::exchange(taking_back_, outer) != &op;
}

/// A release is sent late rather than never: what it ends may last as long as a session.
std::uint64_t driver::number_of(const tickets::request& request) {
  return tickets::is_release(request) ? 0 : ++last_request_;
}

void driver::send(operation& op, tickets::request&& request) {
  op.request = number_of(request);
  link_.send(std::move(request),
             {op.request, [this, &op](tickets::link::outcome&& o) { on_reply(op, std::move(o)); }});
}

/// Gives each operation its part of the reply. Those whose requests were not carried out ask by themselves.
void driver::on_joint_reply(const std::vector<sent_request>& parts,
                            const tickets::link::outcome& o) noexcept {
  const auto* const answers = tickets::reply_in<tickets::several>(o);
  const auto* const failed = std::get_if<store::request_error>(&o);
  const bool is_carried_out = failed == nullptr || failed->maybe_executed || failed->granted;
  const std::size_t answered = answers == nullptr ? 0 : std::min(answers->each.size(), parts.size());
  bool is_refused = false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    operation& op = *parts[i].by;
    if (i < answered) {
      std::visit([&](const auto& answer) { on_reply(op, tickets::reply{answer}); }, answers->each[i]);
      is_refused = std::holds_alternative<tickets::refused>(answers->each[i]);
    } else if (is_refused) {
      on_reply(op, tickets::reply{tickets::refused{{}, true}});
    } else if (answers == nullptr && is_carried_out) {
      on_reply(op, failed != nullptr ? *failed : no_joint_answer());
    } else if (op.finished) {
      on_reply(op, tickets::link::outcome{o});  // nobody waits for it any more
    } else {
      send(op, tickets::request{parts[i].request});
    }
  }
}

std::unique_ptr<driver::operation> driver::take_out(const operation& ended) {
  const std::size_t position = ended.position;
  running_[position].swap(running_.back());
  running_[position]->position = position;
  auto taken = std::move(running_.back());
  running_.pop_back();
  return taken;
}

/// A claim that is granted in a session which may have ended, as after a stall, does not hold yet.
void driver::doubt_ended_session(tickets::link::outcome& of) const {
  auto* const at = tickets::reply_in<tickets::place>(of);
  if (at == nullptr || !at->granted) return;
  const auto until = link_.session_until();
  at->is_doubted = until && *until <= time_.now();
}

void driver::on_notification(const store::notification& n) {
  const auto found = claiming_.find(n.owner);
  const bool asks = n.kind == store::notification_kind::release_requested;
  if (found != claiming_.end() && asks) {
    found->second->is_release_requested = true;
  } else if (found != claiming_.end()) {
    feed(*found->second, n);
  } else if (n.kind == store::notification_kind::revoked && revoked_) {
    revoked_(n.owner, n.token);
  } else if (asks && release_requested_) {
    release_requested_(n.owner);
  }
}

void driver::everybody_looks() {
  std::vector<std::pair<std::uint64_t, owner_id>> waiting;
  waiting.reserve(claiming_.size());
  for (const auto& [owner, op] : claiming_) waiting.emplace_back(op->number, owner);
  std::sort(waiting.begin(), waiting.end());  // in the order of asking
  for (const auto& [number, owner] : waiting) {
    on_notification({owner, store::notification_kind::look, {}});
  }
}

void driver::tell_if_idle() {
  if (busy() == 0 && idle_) std::exchange(idle_, nullptr)();
}

}  // namespace holdfast::runtime
