// SPDX-License-Identifier: Apache-2.0
#include "core/random_commands.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/describe.hpp"
#include "core/samples.hpp"
#include "support/joint_requests.hpp"

namespace holdfast::test {

namespace {

constexpr std::size_t slots = 6;  // clients that each have one claim in mind
constexpr std::size_t name_count = 2;
constexpr duration forget_after = 50ms;

constexpr std::array<std::string_view, 19> act_names = {
    "acquire",       "acquire_all", "ask_again", "look",      "renew",    "renew_all",       "release",
    "release_all",   "withdraw",    "find",      "downgrade", "annotate", "request_release", "steal",
    "force_release", "list",        "pass",      "step_wall", "forget"};

std::int64_t weight_of(const claim_state& c) {
  switch (c.mode) {
    case mode::exclusive: return store::full_capacity;
    case mode::shared: return 1;
    case mode::permits: return c.permits;
  }
  return 0;
}

std::int64_t weight_of(const std::vector<claim_state>& all) {
  std::int64_t sum = 0;
  for (const claim_state& c : all) sum += weight_of(c);
  return sum;
}

bool has(const std::vector<claim_state>& all, fencing_token token) {
  return std::any_of(all.begin(), all.end(), [&](const claim_state& c) { return c.token == token; });
}

/// Several clients with one claim each, at both stores, with two names of their own.
class sequence_run {
 public:
  /// \param number of the sequence: those before have left dead claims behind, of other names.
  sequence_run(model_comparison& stores, int number)
      : stores_{stores},
        names_{"stock/" + std::to_string(number), "it's \"ours\"; --" + std::to_string(number)} {
    stores_.pass(24h);
  }

  void obey(const command& c) {
    current_ = &slots_.at(c.slot);
    switch (c.action) {
      case act::pass: return pass(c.kind);
      case act::step_wall: return stores_.step_wall(c.kind < 5 ? -1h : 1h);
      case act::forget: return forget();
      case act::acquire: *current_ = {id_of_next_owner(), names_.at(c.name), {}, 0}; return acquire(c);
      case act::ask_again:  // as a machine does whose claim is gone; its id stays
        return is_living(*current_) || current_->name.empty() ? void() : acquire(c);
      case act::acquire_all: return acquire_all(c);
      case act::release_all: return release_all();
      case act::steal: {
        request_form r = about(task::release);
        r.owner = id(255);
        RC_ASSERT(std::holds_alternative<tickets::nothing>(ask(r)));  // only its owner ends a claim
        return;
      }
      case act::renew_all: return renew_all();
      case act::renew: {
        request_form r;
        r.kind = task::renew;
        r.holds = {hold_of(*current_)};
        return static_cast<void>(ask(r));
      }
      case act::downgrade: {
        request_form r = about(task::downgrade);
        r.weight = 1;
        const auto before = state_of(current_->name);
        // Asked for only by those who hold the whole.
        if (before && has(before->holders, r.token) && weight_of(before->holders) == store::full_capacity)
          ask(r);
        return;
      }
      case act::annotate: {
        request_form r = about(task::annotate);
        r.metadata = std::make_shared<const std::string>("somebody else");
        return static_cast<void>(ask(r));
      }
      case act::request_release: return static_cast<void>(ask(about_name(task::request_release, c)));
      case act::force_release: return static_cast<void>(ask(about_name(task::force_release, c)));
      case act::list: return static_cast<void>(ask(about_name(task::list, c)));
      case act::look: return static_cast<void>(ask(about(task::look)));
      case act::release: return static_cast<void>(ask(about(task::release)));
      case act::withdraw: return static_cast<void>(ask(about(task::withdraw)));
      case act::find: return find();
    }
  }

 private:
  struct slot {
    owner_id owner;
    std::string name;
    fencing_token token;
    std::int64_t expires_us = 0;
  };
  using state = std::optional<lock_state>;

  owner_id id_of_next_owner() {
    owner_id::bytes_type bytes{};
    ++owners_;
    bytes[0] = static_cast<std::uint8_t>(owners_);
    bytes[1] = static_cast<std::uint8_t>(owners_ >> 8U);
    return owner_id{bytes};
  }
  static duration ttl_of(std::uint8_t kind) { return kind % 2 == 0 ? 100ms : 250ms; }

  void pass(std::uint8_t kind) {
    // Among them exactly a ttl: what has expired to the microsecond is where two stores may differ.
    constexpr std::array<duration, 8> times = {1us, 1ms, 50ms, 99'999us, 100ms, 150ms, 250ms, 2h};
    stores_.pass(times.at(kind % times.size()));
  }

  void acquire(const command& c) {
    const tickets::reply answer = ask(claim_of(c));
    if (const auto* at = std::get_if<tickets::place>(&answer)) take_place(*at);
  }

  [[nodiscard]] request_form claim_of(const command& c) const {
    store::claim claim;
    claim.mode = c.kind < 3 ? mode::exclusive : c.kind < 6 ? mode::shared : mode::permits;
    claim.capacity = c.kind == 9 ? 5 : 3;
    claim.permits = c.kind == 6 ? 1 : c.kind == 8 ? 3 : 2;
    request_form r = about(task::acquire);
    r.token = {};
    r.weight = store::weight_of(claim);
    r.capacity = store::capacity_of(claim);
    r.ttl = ttl_of(c.kind);
    r.wait = c.wait;
    r.metadata = std::make_shared<const std::string>("{\"label\":\"l" + std::to_string(owners_) + "\"}");
    return r;
  }

  void take_place(const tickets::place& at) {
    fencing_token& last = last_tokens_[current_->name];
    RC_ASSERT(at.token > last);
    last = current_->token = at.token;
  }

  /// Claims of all names, in their order, by the slots from the current one on.
  void acquire_all(const command& c) {
    if (!stores_.joins()) return;
    std::vector<slot*> claimants;
    std::vector<tickets::request> parts;
    for (const std::string& name : sorted_names()) {
      slot& each = slots_.at((c.slot + claimants.size()) % slots);
      each = {id_of_next_owner(), name, {}, 0};
      claimants.push_back(&each);
      current_ = &each;
      command next = c;
      next.wait = false;
      next.kind = static_cast<std::uint8_t>((c.kind + claimants.size()) % 10);
      parts.push_back(claim_of(next));
    }
    const tickets::reply answer = ask(joint(parts));
    const auto& each = std::get<tickets::several>(answer).each;
    for (std::size_t i = 0; i < each.size(); ++i) {
      current_ = claimants.at(i);
      if (const auto* at = std::get_if<tickets::place>(&each[i])) take_place(*at);
      RC_ASSERT(i + 1 == each.size() || std::holds_alternative<tickets::place>(each[i]));
    }
  }

  void release_all() {
    if (!stores_.joins()) return;
    std::vector<tickets::request> parts;
    for (const std::string& name : sorted_names()) {
      for (const slot& each : slots_) {
        if (each.name == name) parts.emplace_back(tickets::release{hold_of(each)});
      }
    }
    if (parts.empty()) return;
    const tickets::reply answer = ask(joint(parts));
    RC_ASSERT(std::get<tickets::several>(answer).each.size() == parts.size());
  }

  [[nodiscard]] std::array<std::string, name_count> sorted_names() const {
    auto sorted = names_;
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }

  void find() {
    const bool living = is_living(*current_);
    const tickets::reply answer = ask(about(task::find));
    const auto* at = std::get_if<tickets::place>(&answer);
    RC_ASSERT(living == (at != nullptr));
    if (at == nullptr) return;
    RC_ASSERT(at->token == current_->token);
    RC_ASSERT(at->granted == has(state_of(current_->name)->holders, at->token));
  }

  void renew_all() {
    request_form r;
    r.kind = task::renew;
    for (const slot& s : slots_) r.holds.push_back(hold_of(s));
    std::vector<bool> expected;
    for (const slot& s : slots_) {
      const auto state = state_of(s.name);  // what waits is not kept as a hold
      expected.push_back(is_living(s) && state && has(state->holders, s.token));
    }
    // Others' holds, and of names that nobody knows.
    store::hold alien = hold_of(*current_);
    alien.owner = id(255);
    r.holds.push_back(alien);
    alien.name += "?";
    r.holds.insert(r.holds.begin(), alien);
    expected.push_back(false);
    expected.insert(expected.begin(), false);
    RC_ASSERT(std::get<tickets::kept>(ask(r)).each == expected);
  }

  /// Names that nobody has used for long. Their tokens rise all the same, as the clock does.
  void forget() {
    stores_.pass(1us);  // a sweep a microsecond is enough
    const auto before = fencing_token{static_cast<std::uint64_t>(
        std::chrono::duration_cast<duration>((stores_.now() - forget_after).time_since_epoch()).count())};
    std::set<std::string> old;
    for (const std::string& name : names_) {
      const state s = state_of(name);
      if (s && s->holders.empty() && s->waiters.empty() && s->last_token < before) old.insert(name);
    }
    if (!stores_.forget(forget_after)) return;
    RC_LOG() << "forgot " << old.size() << "\n";
    forgotten_.merge(old);
  }

  static store::hold hold_of(const slot& s) { return {s.name, s.owner, s.token, 100ms}; }
  request_form about(task kind) const {
    request_form r;
    r.kind = kind;
    r.name = current_->name;
    r.owner = current_->owner;
    if (kind != task::find && kind != task::withdraw) r.token = current_->token;
    r.ttl = 100ms;
    return r;
  }

  /// Of its holds all or the current one.
  [[nodiscard]] request_form about_name(task kind, const command& c) const {
    request_form r;
    r.kind = kind;
    r.name = names_.at(c.name);
    if (c.wait) r.token = r.last = current_->token;
    r.idle = c.wait;
    r.metadata = std::make_shared<const std::string>(c.kind % 2 == 0 ? "" : R"(a "reason" \ of Łódź)");
    return r;
  }

  state state_of(const std::string& name) {
    request_form r;
    r.kind = task::inspect;
    r.name = name;
    const auto both = stores_.carry_out(r, id(200));
    const std::string model = describe(remembered(both.model.reply));
    const std::string real = describe(both.real.reply);
    RC_ASSERT(model == real);
    return std::get<state>(remembered(both.model.reply));
  }
  /// What the model says, without what it was not told to forget.
  tickets::reply remembered(tickets::reply r) const {
    if (auto* one = std::get_if<state>(&r); one != nullptr && *one && forgotten_.contains((*one)->name)) {
      one->reset();
    }
    if (auto* all = std::get_if<std::vector<lock_summary>>(&r)) {
      std::erase_if(*all, [&](const lock_summary& s) { return forgotten_.contains(s.name) || is_others(s); });
    }
    return r;
  }
  /// Names that sequences before have used, and which may have been forgotten since.
  [[nodiscard]] bool is_others(const lock_summary& s) const {
    return s.holders == 0 && s.waiters == 0 &&
           std::find(names_.begin(), names_.end(), s.name) == names_.end();
  }

  bool is_living(const slot& s) {
    const state now = state_of(s.name);
    return now && (has(now->holders, s.token) || has(now->waiters, s.token));
  }

  /// Asks both, and compares all that can be seen of them.
  tickets::reply ask(const tickets::request& request) {
    RC_LOG() << stores_.now().time_since_epoch().count() / 1000 << " us: " << describe(request) << "\n";
    std::array<state, name_count> before;
    for (std::size_t i = 0; i < name_count; ++i) before.at(i) = state_of(names_.at(i));
    const owner_id client = id(static_cast<std::uint8_t>(200 + (current_ - slots_.data()) % 3));
    auto both = stores_.carry_out(request, client);
    if (task_of(request) == task::acquire && std::holds_alternative<tickets::place>(both.model.reply)) {
      forgotten_.erase(form_of(request).name);
    }
    if (task_of(request) == task::acquire_all) {
      const std::size_t granted = std::get<tickets::several>(both.model.reply).each.size();
      for (std::size_t i = 0; i < granted; ++i) forgotten_.erase(std::string{names_of(request).at(i)});
    }
    forget_ended(request, both.model.notifications);
    forget_ended(request, both.real.notifications);
    const std::string model = describe(remembered(both.model.reply)) + describe(both.model.notifications);
    const std::string real = describe(remembered(both.real.reply)) + describe(both.real.notifications);
    RC_LOG() << "  -> " << model << "\n";
    RC_ASSERT(model == real);
    for (std::size_t i = 0; i < name_count; ++i) {
      const state after = state_of(names_.at(i));
      check(form_of(request), both.model, before.at(i), after);
    }
    return both.model.reply;
  }

  static std::string describe(const tickets::reply& r) { return test::describe(r); }
  static std::string describe(const tickets::request& r) { return test::describe(r); }
  /// A claim that the first part of a joint release hands over to, and the next one ends, may be notified of
  /// that.
  static void forget_ended(const tickets::request& request,
                           std::vector<store::client_notification>& notifications) {
    const auto* const ended = std::get_if<tickets::release_all>(&request);
    if (ended == nullptr) return;
    std::erase_if(notifications, [&](const store::client_notification& n) {
      return std::any_of(ended->holds.begin(), ended->holds.end(),
                         [&](const store::hold& each) { return each.owner == n.message.owner; });
    });
  }
  static std::string describe(const std::vector<store::client_notification>& notifications) {
    // To each in order; which of them is told first is nobody's business.
    std::map<owner_id, std::string> text_for;
    for (const store::client_notification& n : notifications) {
      const bool granted = n.message.kind == store::notification_kind::granted;
      const bool requested = n.message.kind == store::notification_kind::release_requested;
      text_for[n.client]
          .append(" of ")
          .append(n.message.owner.hex().substr(0, 4))
          .append(granted     ? " #" + std::to_string(n.message.token.value())
                  : requested ? " a request"
                              : " its end");
    }
    std::string text;
    for (const auto& [client, each] : text_for) {
      text.append("; tell ").append(client.hex().substr(0, 2)).append(each);
    }
    return text;
  }

  /// What is true of a name after every command.
  static void check(const request_form& request, const model_comparison::answer& answer, const state& before,
                    const state& after) {
    if (!after) return;
    const std::int64_t capacity = after->capacity == 0 ? store::full_capacity : after->capacity;
    RC_ASSERT(weight_of(after->holders) <= capacity);
    RC_ASSERT(!before || before->last_token <= after->last_token);

    const auto* place = std::get_if<tickets::place>(&answer.reply);
    for (const claim_state& h : after->holders) {
      if (before && has(before->holders, h.token)) continue;
      // Who holds now and did not before has been told, by the reply or by one notification.
      const bool replied =
          (request.kind == task::acquire && place != nullptr && place->granted && place->token == h.token) ||
          (request.kind == task::acquire_all && grants(answer.reply, h.token));
      const auto notifications = std::count_if(
          answer.notifications.begin(), answer.notifications.end(), [&](const store::client_notification& n) {
            return n.message.owner.hex() == h.owner && n.message.kind == store::notification_kind::granted &&
                   n.message.token == h.token;
          });
      RC_ASSERT(notifications == (replied ? 0 : 1));
      // Nobody who came earlier waits on.
      for (const claim_state& w : after->waiters) RC_ASSERT(w.token > h.token);
      if (!before) continue;
      for (const claim_state& w : before->waiters) {
        RC_ASSERT(w.token > h.token || has(after->holders, w.token) || !has(after->waiters, w.token));
      }
    }
    if (request.name != after->name) return;
    check_notifications(request, answer, before, *after);
    // Whoever changes anything sees to it that nobody waits for capacity that is free.
    const bool done = std::holds_alternative<tickets::done>(answer.reply);
    const bool annotates = request.kind == task::annotate;
    RC_ASSERT(!done || !annotates || (before && has(before->holders, request.token)));
    const bool serves = (done && !annotates) || request.kind == task::force_release ||
                        (request.kind == task::look && place != nullptr);
    if (serves && !after->waiters.empty()) {
      RC_ASSERT(weight_of(after->holders) + weight_of(after->waiters.front()) > capacity);
    }
  }

  static bool grants(const tickets::reply& joint, fencing_token token) {
    const auto& each = std::get<tickets::several>(joint).each;
    return std::any_of(each.begin(), each.end(), [&](const auto& answer) {
      const auto* const at = std::get_if<tickets::place>(&answer);
      return at != nullptr && at->granted && at->token == token;
    });
  }

  /// No notification goes to anybody but those concerned.
  static void check_notifications(const request_form& request, const model_comparison::answer& answer,
                                  const state& before, const lock_state& after) {
    const bool asks = request.kind == task::request_release;
    std::size_t ended = 0;  // or asked to be released
    for (const store::client_notification& n : answer.notifications) {
      if (n.message.kind == store::notification_kind::granted) {
        RC_ASSERT(has(after.holders, n.message.token));
        RC_ASSERT(before && has(before->waiters, n.message.token));
      } else {
        RC_ASSERT((n.message.kind == store::notification_kind::release_requested) == asks);
        ++ended;
      }
    }
    std::size_t meant = 0;
    if ((request.kind == task::force_release || asks) && before) {
      for (const claim_state& h : before->holders) {
        meant += h.token >= request.token && h.token <= request.last ? 1 : 0;
      }
    }
    RC_ASSERT(ended == meant);
    if (asks) RC_ASSERT(std::get<tickets::count>(answer.reply).value == meant);
  }

  model_comparison& stores_;
  std::array<std::string, name_count> names_;
  std::array<slot, slots> slots_{};
  slot* current_ = slots_.data();
  std::map<std::string, fencing_token> last_tokens_;
  std::set<std::string> forgotten_;
  std::uint32_t owners_ = 0;
};

}  // namespace

std::ostream& operator<<(std::ostream& to, const command& c) {
  return to << act_names.at(static_cast<std::size_t>(c.action)) << " slot " << int{c.slot} << " name "
            << int{c.name} << " kind " << int{c.kind} << (c.wait ? " waits" : "");
}

rc::Gen<command> any_command() {
  const auto acts = rc::gen::weightedElement<act>({{12, act::acquire},
                                                   {3, act::acquire_all},
                                                   {2, act::release_all},
                                                   {3, act::ask_again},
                                                   {6, act::look},
                                                   {4, act::renew},
                                                   {2, act::renew_all},
                                                   {6, act::release},
                                                   {3, act::withdraw},
                                                   {3, act::find},
                                                   {2, act::downgrade},
                                                   {2, act::annotate},
                                                   {3, act::request_release},
                                                   {1, act::steal},
                                                   {1, act::force_release},
                                                   {1, act::list},
                                                   {8, act::pass},
                                                   {1, act::step_wall},
                                                   {1, act::forget}});
  return rc::gen::build<command>(
      rc::gen::set(&command::action, acts),
      rc::gen::set(&command::slot, rc::gen::inRange<std::uint8_t>(0, slots)),
      rc::gen::set(&command::name, rc::gen::weightedElement<std::uint8_t>({{4, 0}, {1, 1}})),
      rc::gen::set(&command::kind, rc::gen::inRange<std::uint8_t>(0, 10)),
      rc::gen::set(&command::wait, rc::gen::weightedElement<bool>({{3, true}, {1, false}})));
}

void compare_replies(const std::vector<command>& commands, model_comparison& stores, int number) {
  sequence_run all{stores, number};
  for (const command& c : commands) all.obey(c);
}

}  // namespace holdfast::test
