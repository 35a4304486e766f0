#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "core/port.hpp"
#include "core/retrying_request.hpp"
#include "core/scheduler.hpp"

namespace holdfast::runtime {

/// The port of any family: runs its machines over its link, and turns their actions into requests and
/// timers, replies and ticks into their events. The simulator runs the very same driver.
///
/// `Family` names request, reply, link and acquisition, and translates (see tickets::family).
template <class Family>
class driver final : public store::port {
 public:
  using request = typename Family::request;
  using reply = typename Family::reply;
  using link = typename Family::link;

  /// Both must outlive the driver; the link must have stopped calling back before.
  driver(store::scheduler& time, link& to) : time_{time}, link_{to} {
    link_.on_notifications([this](const store::notification& n) { on_notification(n); });
    link_.on_gap([this] { everybody_looks(); });
  }
  ~driver() override {
    for (auto& [id, op] : running_) time_.cancel(op->timer);
  }
  driver(const driver&) = delete;
  driver& operator=(const driver&) = delete;

  void acquire(store::claim claim, store::handler<store::acquired> done) override {
    const owner_id owner = claim.owner;
    const op_id id = start<store::acquired>(typename Family::acquisition{std::move(claim)}, std::move(done));
    running_.at(id)->owner = owner;
    claiming_.emplace(owner, id);
    feed(id, store::started{});
  }

  void cancel(const owner_id& owner) override {
    const auto found = claiming_.find(owner);
    if (found == claiming_.end()) return;
    running_.at(found->second)->forget_user();
    feed(found->second, store::cancelled{});
  }

  [[nodiscard]] std::optional<failure> last_error(const owner_id& owner) const override {
    const auto found = claiming_.find(owner);
    return found == claiming_.end() ? std::nullopt : running_.at(found->second)->last_error();
  }

  void renew(std::vector<store::hold> holds, store::time_point answer_by,
             store::handler<store::renewals> done) override {
    const std::size_t n = holds.size();
    send_until_answered<store::renewals>(
        Family::renewal(std::move(holds)), {time_.now(), answer_by},
        [](const reply& r, store::time_point sent, bool) {
          return store::renewals{sent, Family::renewed(r)};
        },
        [n](const store::trouble&) {
          return store::renewals{{}, std::vector<store::renewed>(n, store::renewed::unknown)};
        },
        std::move(done));
  }

  void release(store::hold hold, store::time_point give_up, store::handler<store::released> done) override {
    send_until_answered<store::released>(
        Family::release(hold), give_up,
        [](const reply& r, store::time_point, bool doubted) { return Family::released(r, doubted); },
        [](const store::trouble&) { return store::released::unknown; }, std::move(done));
  }

  void downgrade(store::hold hold, store::time_point give_up, store::handler<store::lowered> done) override {
    send_until_answered<store::lowered>(
        Family::downgrade(hold), give_up,
        [](const reply& r, store::time_point, bool) { return Family::lowered(r); },
        [](const store::trouble& t) {
          return store::lowered{
              {t.unknown ? make_error_code(errc::unknown_outcome) : t.reason.code, t.reason.message}};
        },
        std::move(done));
  }

  void inspect(std::string name, std::size_t most_waiters, store::time_point give_up,
               store::handler<store::inspected> done) override {
    ask<std::optional<lock_state>>(Family::inspection(std::move(name), most_waiters), give_up,
                                   Family::inspected, std::move(done));
  }
  void list(bool idle, store::time_point give_up, store::handler<store::listed> done) override {
    ask<std::vector<lock_summary>>(Family::listing(idle), give_up, Family::listed, std::move(done),
                                   [idle](const reply& r) { return Family::listing_continued(r, idle); });
  }
  void force_release(std::string name, std::optional<fencing_token> token, store::time_point give_up,
                     store::handler<store::forced> done) override {
    const auto end_holds = [this, name, token, give_up, done = std::move(done)](store::inspected answer) {
      if (auto* failed = std::get_if<failure>(&answer)) return done(std::move(*failed));
      const auto seen = holds_in(std::get<std::optional<lock_state>>(answer), token);
      if (!seen) return done(std::size_t{0});
      evict(name, seen, give_up, done);
    };
    inspect(std::move(name), 0, give_up, end_holds);
  }
  std::shared_ptr<void> watch(std::function<void()> changed) override {
    return link_.watch(std::move(changed));
  }

  void on_revoked(std::function<void(const owner_id&, fencing_token)> handler) override {
    revoked_ = std::move(handler);
  }
  [[nodiscard]] std::optional<store::time_point> session_until() const override {
    return link_.session_until();
  }
  void on_session(const std::function<void()>& extended) override { link_.on_session(extended); }
  [[nodiscard]] std::size_t busy() const override { return running_.size() - in_vain_; }
  void when_idle(std::function<void()> action) override {
    idle_ = std::move(action);
    tell_if_idle();
  }
  void abandon() override {
    while (!running_.empty()) {
      feed(running_.begin()->first,
           store::replied<reply>{store::trouble{{errc::closed, "the client was closed"}, false, true}});
    }
  }

 private:
  using op_id = std::uint64_t;

  struct operation {
    operation() = default;
    operation(const operation&) = delete;
    operation& operator=(const operation&) = delete;
    virtual ~operation() = default;
    /// What the machine wants, its answer already bound to its user, if there is one.
    struct wants {
      std::optional<request> send;
      std::optional<store::time_point> wake_at;
      std::function<void()> answer;
      bool finished = false;
      bool in_vain = false;
    };
    virtual wants resume(store::time_point now, std::uint64_t random, const store::event<reply>& e) = 0;
    virtual void forget_user() = 0;
    [[nodiscard]] virtual std::optional<failure> last_error() const { return std::nullopt; }

    store::scheduler::timer timer = 0;
    owner_id owner;  // of acquisitions
    bool in_vain = false;
  };

  template <class Machine, class Result>
  struct operation_of final : operation {
    operation_of(Machine m, store::handler<Result> d) : machine{std::move(m)}, done{std::move(d)} {}
    typename operation::wants resume(store::time_point now, std::uint64_t random,
                                     const store::event<reply>& e) override {
      auto step = machine.resume(now, random, e);
      typename operation::wants w;
      w.send = std::move(step.send);
      w.wake_at = step.wake_at;
      w.finished = step.finished;
      w.in_vain = step.in_vain;
      if (step.answer && done) {
        w.answer = [handler = std::exchange(done, nullptr), result = std::move(*step.answer)]() mutable {
          handler(std::move(result));
        };
      }
      return w;
    }
    void forget_user() override { done = nullptr; }
    [[nodiscard]] std::optional<failure> last_error() const override {
      if constexpr (requires { machine.last_error(); }) return machine.last_error();
      return std::nullopt;
    }

    Machine machine;
    store::handler<Result> done;
  };

  template <class Result, class Machine>
  op_id start(Machine m, store::handler<Result> done) {
    const op_id id = ++last_;
    running_.emplace(id, std::make_unique<operation_of<Machine, Result>>(std::move(m), std::move(done)));
    return id;
  }

  template <class Result, class Read, class GiveUp>
  void send_until_answered(
      request first, store::limits until, Read read, GiveUp give_up, store::handler<Result> done,
      typename store::retrying_request<request, reply, Result>::follow follow = nullptr) {
    using machine = store::retrying_request<request, reply, Result>;
    feed(start<Result>(machine{std::move(first), retry_policy{}, until, std::move(read), std::move(give_up),
                               std::move(follow)},
                       std::move(done)),
         store::started{});
  }

  /// A request whose result is a value or a failure.
  template <class Value, class Read>
  void ask(request first, store::time_point until, Read read, store::handler<store::answer<Value>> done,
           typename store::retrying_request<request, reply, store::answer<Value>>::follow follow = nullptr) {
    send_until_answered<store::answer<Value>>(
        std::move(first), until,
        [read](const reply& r, store::time_point, bool) { return store::answer<Value>{read(r)}; },
        [](const store::trouble& t) { return store::answer<Value>{t.reason}; }, std::move(done),
        std::move(follow));
  }

  /// The holds to end, in ranges of tokens that have no others between them: a claim that is granted later
  /// may have a token between those of two holds. Each range is one request.
  struct holds {
    struct range {
      fencing_token first;
      fencing_token last;
    };
    std::size_t count = 0;
    std::vector<range> ranges;
    std::size_t ended = 0;  // as the store says
    std::size_t parts_done = 0;
  };
  static std::shared_ptr<holds> holds_in(const std::optional<lock_state>& seen,
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

  void evict(const std::string& name, const std::shared_ptr<holds>& seen, store::time_point give_up,
             store::handler<store::forced> done) {
    const auto eviction = [name, seen] {
      const auto& next = seen->ranges.at(seen->parts_done);
      return Family::eviction(name, next.first, next.last);
    };
    send_until_answered<store::forced>(
        eviction(), give_up,
        [seen](const reply&, store::time_point, bool doubted) {
          // An earlier try may have ended them: by now they have ended, one way or another.
          return store::forced{doubted ? seen->count : seen->ended};
        },
        [seen](const store::trouble& t) {
          if (t.unknown)
            return store::forced{failure{make_error_code(errc::unknown_outcome), t.reason.message}};
          std::string text = t.reason.message;
          if (seen->ended != 0) {
            text.append("; of the holds before it ").append(std::to_string(seen->ended)).append(" ended");
          }
          return store::forced{failure{t.reason.code, std::move(text)}};
        },
        std::move(done),
        [seen, eviction](const reply& r) -> std::optional<store::continuation<request>> {
          seen->ended += Family::evicted(r);
          if (++seen->parts_done == seen->ranges.size()) return std::nullopt;
          return store::continuation<request>{eviction()};
        });
  }

  void feed(op_id id, const store::event<reply>& e) {
    const auto found = running_.find(id);
    if (found == running_.end()) return;
    operation& op = *found->second;
    auto wants = op.resume(time_.now(), time_.random(), e);
    if (wants.wake_at || wants.finished) time_.cancel(std::exchange(op.timer, 0));
    if (wants.send) {
      link_.send(std::move(*wants.send),
                 [this, id](typename link::outcome o) { feed(id, store::replied<reply>{std::move(o)}); });
    }
    if (wants.wake_at) op.timer = time_.at(*wants.wake_at, [this, id] { feed(id, store::woken{}); });
    if (wants.in_vain && !std::exchange(op.in_vain, true)) ++in_vain_;
    if (wants.finished) {
      in_vain_ -= op.in_vain ? 1 : 0;
      claiming_.erase(op.owner);
      running_.erase(found);
    }
    if (wants.answer) wants.answer();
    if (wants.finished || wants.in_vain) tell_if_idle();
  }

  void on_notification(const store::notification& n) {
    const auto found = claiming_.find(n.owner);
    if (found != claiming_.end()) {
      feed(found->second, n);
    } else if (n.kind == store::notification_kind::revoked && revoked_) {
      revoked_(n.owner, n.token);
    }
  }

  void everybody_looks() {
    std::vector<std::pair<op_id, owner_id>> waiting;
    waiting.reserve(claiming_.size());
    for (const auto& [owner, id] : claiming_) waiting.emplace_back(id, owner);
    std::sort(waiting.begin(), waiting.end());  // in the order of asking
    for (const auto& [id, owner] : waiting) {
      feed(id, store::notification{owner, store::notification_kind::look, {}});
    }
  }

  void tell_if_idle() {
    if (busy() == 0 && idle_) std::exchange(idle_, nullptr)();
  }

  store::scheduler& time_;
  link& link_;
  op_id last_ = 0;
  std::unordered_map<op_id, std::unique_ptr<operation>> running_;
  std::size_t in_vain_ = 0;  // of them, those that the store refuses
  std::unordered_map<owner_id, op_id> claiming_;
  std::function<void(const owner_id&, fencing_token)> revoked_;
  std::function<void()> idle_;
};

}  // namespace holdfast::runtime
