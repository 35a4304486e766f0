#include "runtime/driver.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/acquisition.hpp"
#include "core/end_of_hold.hpp"
#include "core/translation.hpp"
#include "runtime/driver_operation.hpp"

namespace holdfast::runtime {

using tickets::reply;
using tickets::request;

/// The holds to end, in ranges of tokens that have no others between them: a claim that is granted later may
/// have a token between those of two holds. Each range is one request.
struct driver::holds {
  struct range {
    fencing_token first;
    fencing_token last;
  };
  std::size_t count = 0;
  std::vector<range> ranges;
  std::size_t ended = 0;  // as the store says
  std::size_t parts_done = 0;

  static std::shared_ptr<holds> of(const std::optional<lock_state>& seen, std::optional<fencing_token> token);
};

std::shared_ptr<driver::holds> driver::holds::of(const std::optional<lock_state>& seen,
                                                 std::optional<fencing_token> token) {
  if (!seen) return nullptr;
  std::vector<fencing_token> tokens;
  for (const claim_state& holder : seen->holders) {
    if (!token || holder.token == *token) tokens.push_back(holder.token);
  }
  if (token && tokens.empty()) return nullptr;
  auto found = std::make_shared<holds>();
  found->count = tokens.size();
  std::sort(tokens.begin(), tokens.end());
  for (const fencing_token t : tokens) {
    const bool is_next = !found->ranges.empty() && t.value() - found->ranges.back().last.value() <= 1;
    if (!is_next) found->ranges.push_back({t, t});
    found->ranges.back().last = t;
  }
  // Without a holder the store still hands the name on to whoever waits behind dead claims.
  if (found->ranges.empty()) found->ranges.emplace_back();
  return found;
}

namespace {

/// The end of a request whose result is a value or a failure, where it has no reply.
template <class Value>
store::answer<Value> failed(const store::request_error& t) {
  return t.reason;
}

}  // namespace

driver::driver(store::scheduler& time, tickets::link& to) : time_{time}, link_{to} {
  link_.on_notifications([this](const store::notification& n) { on_notification(n); });
  link_.on_gap([this] { everybody_looks(); });
}

driver::~driver() {
  for (auto& [id, op] : running_) time_.cancel(op->timer);
}

template <class Result, class Machine>
driver::op_id driver::add(Machine m, store::handler<Result> done) {
  const op_id id = ++last_;
  running_.emplace(id, std::make_unique<operation_of<Machine, Result>>(std::move(m), std::move(done)));
  return id;
}

template <class Result, class Machine>
void driver::start(Machine m, store::handler<Result> done) noexcept {
  feed(add<Result>(std::move(m), std::move(done)), store::started{});
}

template <class Result>
void driver::send_until_answered(retrying_request<Result> m, store::handler<Result> done) noexcept {
  start<Result>(std::move(m), std::move(done));
}

/// Takes an operation out that has finished.
std::unique_ptr<driver::operation> driver::take(op_id id) {
  const auto found = running_.find(id);
  std::unique_ptr<operation> finished = std::move(found->second);
  running_.erase(found);
  time_.cancel(finished->timer);
  in_vain_ -= finished->in_vain ? 1 : 0;
  claiming_.erase(finished->owner);
  return finished;
}

void driver::acquire(store::claim claim, store::handler<store::acquired> done) noexcept {
  const owner_id owner = claim.owner;
  const op_id id = add<store::acquired>(tickets::acquisition{std::move(claim)}, std::move(done));
  running_.at(id)->owner = owner;
  claiming_.emplace(owner, id);
  feed(id, store::started{});
}

void driver::cancel(const owner_id& owner) noexcept {
  const auto found = claiming_.find(owner);
  if (found == claiming_.end()) return;
  running_.at(found->second)->forget_user();
  feed(found->second, store::cancelled{});
}

std::optional<failure> driver::error_now(const owner_id& owner) const {
  const auto found = claiming_.find(owner);
  return found == claiming_.end() ? std::nullopt : running_.at(found->second)->error_at(time_.now());
}

void driver::renew(std::vector<store::hold> holds, store::time_point answer_by,
                   store::handler<store::renewals> done) {
  const std::size_t n = holds.size();
  request renewal = tickets::renew_request(std::move(holds));
  renewal.send_by = answer_by;
  send_until_answered<store::renewals>({std::move(renewal),
                                        retry_policy{},
                                        {time_.now(), answer_by},
                                        [](const reply& r, store::time_point sent, bool) {
                                          return store::renewals{sent, tickets::renew_results(r)};
                                        },
                                        [n](const store::request_error&) {
                                          return store::renewals{
                                              {}, std::vector<store::renewed>(n, store::renewed::unknown)};
                                        }},
                                       std::move(done));
}

void driver::release(store::hold hold, store::time_point give_up, store::handler<store::released> done) {
  rest(std::move(hold), {}, give_up, std::move(done));
}

void driver::rest(store::hold hold, store::time_point until, store::time_point give_up,
                  store::handler<store::released> done) {
  start<store::released>(tickets::end_of_hold{std::move(hold), until, give_up}, std::move(done));
}

void driver::downgrade(store::hold hold, store::time_point give_up, store::handler<store::lowered> done) {
  send_until_answered<store::lowered>(
      {tickets::downgrade_request(hold), retry_policy{}, give_up,
       [](const reply& r, store::time_point, bool) { return tickets::downgrade_result(r); },
       [](const store::request_error& t) {
         return store::lowered{
             {t.maybe_executed ? make_error_code(errc::unknown_outcome) : t.reason.code, t.reason.message}};
       }},
      std::move(done));
}

void driver::annotate(store::hold hold, std::shared_ptr<const std::string> metadata,
                      store::time_point give_up, store::handler<store::annotated> done) {
  send_until_answered<store::annotated>(
      {tickets::annotate_request(hold, std::move(metadata)), retry_policy{}, give_up,
       [](const reply& r, store::time_point, bool) { return tickets::annotate_result(r); },
       [](const store::request_error& t) {
         return store::annotated{
             {t.maybe_executed ? make_error_code(errc::unknown_outcome) : t.reason.code, t.reason.message}};
       }},
      std::move(done));
}

void driver::inspect(std::string name, std::size_t most_waiters, store::time_point give_up,
                     store::handler<store::inspected> done) {
  send_until_answered<store::inspected>(
      {tickets::inspect_request(name, most_waiters), retry_policy{}, give_up,
       [](const reply& r, store::time_point, bool) -> store::inspected { return tickets::inspect_result(r); },
       failed<std::optional<lock_state>>,
       [name, most_waiters](const reply& r) { return tickets::next_inspect_request(r, name, most_waiters); }},
      std::move(done));
}

void driver::list(bool idle, store::time_point give_up, store::handler<store::listed> done) {
  send_until_answered<store::listed>(
      {tickets::list_request(idle), retry_policy{}, give_up,
       [](const reply& r, store::time_point, bool) -> store::listed { return tickets::list_result(r); },
       failed<std::vector<lock_summary>>,
       [idle](const reply& r) { return tickets::next_list_request(r, idle); }},
      std::move(done));
}

void driver::force_release(std::string name, std::optional<fencing_token> token, store::time_point give_up,
                           store::handler<store::forced> done) {
  const auto end = [this, name, token, give_up, done = std::move(done)](store::inspected answer) {
    if (auto* reason = std::get_if<failure>(&answer)) return done(std::move(*reason));
    const auto seen = holds::of(std::get<std::optional<lock_state>>(answer), token);
    if (!seen) return done(std::size_t{0});
    end_holds(name, seen, give_up, done);
  };
  inspect(std::move(name), 0, give_up, end);
}

void driver::end_holds(const std::string& name, const std::shared_ptr<holds>& seen, store::time_point give_up,
                       store::handler<store::forced> done) {
  const auto next_request = [name, seen] {
    const auto& next = seen->ranges.at(seen->parts_done);
    return tickets::force_release_request(name, next.first, next.last);
  };
  send_until_answered<store::forced>(
      {next_request(), retry_policy{}, give_up,
       [seen](const reply&, store::time_point, bool doubted) {
         // An earlier try may have ended them: by now they have ended, one way or another.
         return store::forced{doubted ? seen->count : seen->ended};
       },
       [seen](const store::request_error& t) {
         if (t.maybe_executed) {
           return store::forced{failure{make_error_code(errc::unknown_outcome), t.reason.message}};
         }
         std::string text = t.reason.message;
         if (seen->ended != 0) {
           text.append("; of the holds before it ").append(std::to_string(seen->ended)).append(" ended");
         }
         return store::forced{failure{t.reason.code, std::move(text)}};
       },
       [seen, next_request](const reply& r) -> std::optional<store::continuation<request>> {
         seen->ended += tickets::count_result(r);
         if (++seen->parts_done == seen->ranges.size()) return std::nullopt;
         return store::continuation<request>{next_request()};
       }},
      std::move(done));
}

void driver::request_release(std::string name, std::optional<fencing_token> token,
                             std::shared_ptr<const std::string> reason, store::time_point give_up,
                             store::handler<store::notified> done) {
  send_until_answered<store::notified>(
      {tickets::request_release_request(std::move(name), token.value_or(fencing_token{}), std::move(reason)),
       retry_policy{}, give_up,
       [](const reply& r, store::time_point, bool) -> store::notified { return tickets::count_result(r); },
       [](const store::request_error& t) -> store::notified {
         return failure{t.maybe_executed ? make_error_code(errc::unknown_outcome) : t.reason.code,
                        t.reason.message};
       }},
      std::move(done));
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

std::optional<store::time_point> driver::session_until() const { return link_.session_until(); }

void driver::on_session(const std::function<void()>& extended) { link_.on_session(extended); }

std::size_t driver::busy() const { return running_.size() - in_vain_; }

void driver::when_idle(std::function<void()> action) {
  idle_ = [this, action = std::move(action)]() mutable { link_.when_delivered(std::move(action)); };
  tell_if_idle();
}

void driver::abandon() {
  while (!running_.empty()) {
    feed(running_.begin()->first,
         store::replied<reply>{store::request_error{{errc::closed, "the client was closed"}, false, true}});
  }
}

/// The user's handler runs when the actions are done, and the operation is among those that run no more if it
/// has finished.
void driver::feed(op_id id, const store::event<reply>& e) noexcept {
  const auto found = running_.find(id);
  if (found == running_.end()) return;
  operation& op = *found->second;
  auto wants = op.resume(time_.now(), time_.random(), e);
  if (journal_ != nullptr) op.report(*journal_);
  if (wants.wake_at || wants.finished) time_.cancel(std::exchange(op.timer, 0));
  if (wants.wake_at) op.timer = time_.at(*wants.wake_at, [this, id] { feed(id, store::woken{}); });
  if (wants.send) {
    link_.send(std::move(*wants.send),
               [this, id](tickets::link::outcome o) { feed(id, store::replied<reply>{std::move(o)}); });
  }
  if (wants.in_vain && !std::exchange(op.in_vain, true)) ++in_vain_;
  const std::unique_ptr<operation> finished = wants.finished ? take(id) : nullptr;
  const bool is_release_requested = wants.finished && op.is_release_requested;
  const owner_id owner = op.owner;
  if (wants.answered) op.answer();
  if (is_release_requested && release_requested_) release_requested_(owner);
  if (wants.finished || wants.in_vain) tell_if_idle();
}

void driver::on_notification(const store::notification& n) {
  const auto found = claiming_.find(n.owner);
  const bool asks = n.kind == store::notification_kind::release_requested;
  if (found != claiming_.end() && asks) {
    running_.at(found->second)->is_release_requested = true;
  } else if (found != claiming_.end()) {
    feed(found->second, n);
  } else if (n.kind == store::notification_kind::revoked && revoked_) {
    revoked_(n.owner, n.token);
  } else if (asks && release_requested_) {
    release_requested_(n.owner);
  }
}

void driver::everybody_looks() {
  std::vector<std::pair<op_id, owner_id>> waiting;
  waiting.reserve(claiming_.size());
  for (const auto& [owner, id] : claiming_) waiting.emplace_back(id, owner);
  std::sort(waiting.begin(), waiting.end());  // in the order of asking
  for (const auto& [id, owner] : waiting) {
    feed(id, store::notification{owner, store::notification_kind::look, {}});
  }
}

void driver::tell_if_idle() {
  if (busy() == 0 && idle_) std::exchange(idle_, nullptr)();
}

}  // namespace holdfast::runtime
