// What is asked of all servers, about holds and names.

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "stores/quorum/protocol/coordinator_parts.hpp"
#include "stores/quorum/protocol/problem_list.hpp"
#include "stores/quorum/protocol/shared_view.hpp"

namespace holdfast::quorum {

using tickets::request;
using tickets::task;

namespace {

/// What a server has said, or why it is not heard, without its name.
template <class Answer>
answer_of<Answer> answer_in(const std::optional<tickets::link::outcome>& o, const std::string& server) {
  if (const auto* said = reply_in<Answer>(o)) return {server, *said, {}};
  const auto* const failed = o ? std::get_if<store::request_error>(&*o) : nullptr;
  if (failed == nullptr) return {server, std::nullopt, "does not answer"};
  return {server, std::nullopt, without_place(server, failed->reason.message)};
}

template <class Answer>
std::vector<answer_of<Answer>> answers_in(const std::vector<std::optional<tickets::link::outcome>>& all,
                                          const std::vector<std::string>& places) {
  std::vector<answer_of<Answer>> answers;
  answers.reserve(all.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    answers.push_back(answer_in<Answer>(all[i], i < places.size() ? places[i] : std::string{}));
  return answers;
}

template <class Answer>
std::size_t said_in(const std::vector<answer_of<Answer>>& answers) {
  return static_cast<std::size_t>(
      std::count_if(answers.begin(), answers.end(), [](const auto& each) { return each.said.has_value(); }));
}

}  // namespace

store::request_error coordinator::too_few(const outcomes& all, bool is_last) const {
  store::request_error e{{errc::unavailable, ""}, true, true};
  problem_list problems;
  std::size_t missing = 0;
  std::size_t final_ones = 0;
  for (const auto& each : all) {
    const auto* const failed = each ? std::get_if<store::request_error>(&*each) : nullptr;
    if (each ? failed == nullptr : !is_last) continue;
    const auto server = static_cast<std::size_t>(&each - all.data());
    const store::request_error problem = failed != nullptr ? *failed : no_answer_of(settings_.places, server);
    ++missing;
    if (!problem.retryable && ++final_ones == 1) e.reason.code = problem.reason.code;
    problems.add(server < settings_.places.size() ? settings_.places[server] : "", problem.reason.message);
  }
  if (final_ones > settings_.servers - majority()) {
    e.retryable = false;
  } else {
    e.reason.code = errc::unavailable;
  }
  e.reason.message = std::to_string(missing) + " of " + std::to_string(settings_.servers) +
                     " servers do not answer or refuse, and a majority is needed" + problems.text();
  return e;
}

void coordinator::ask_all(const request& r, decision decide, on_reply done,
                          std::function<void(std::size_t)> failed) {
  const auto all = std::make_shared<round>();
  all->all.resize(settings_.servers);
  all->decide = std::move(decide);
  all->done = std::move(done);
  all->failed = std::move(failed);
  all->due = settings_.servers;
  if (all->done) limit(all, scheduler_.now());
  for (std::size_t i = 0; i < settings_.servers; ++i) send_part(all, i, r);
}

/// Ends the round after the silence; where the client may have to connect first, when it has had the time to.
void coordinator::limit(const std::shared_ptr<round>& all, time_point begun) {
  all->limit = scheduler_.at(scheduler_.now() + settings_.silence, [this, all, begun, alive = alive_] {
    all->limit = 0;
    if (!*alive || !all->done) return;
    const auto heard =
        std::count_if(all->all.begin(), all->all.end(), [](const auto& o) { return o.has_value(); });
    const bool may_connect = !is_known() && scheduler_.now() < begun + settings_.connecting;
    if (static_cast<std::size_t>(heard) < majority() && may_connect) return limit(all, begun);
    for (std::size_t i = 0; i < settings_.servers; ++i)
      if (!all->all[i]) is_silent_[i] = true;
    auto o = all->decide(all->all, true);
    answer(std::exchange(all->done, nullptr), o ? std::move(*o) : outcome{too_few(all->all)});
  });
}

void coordinator::send_part(const std::shared_ptr<round>& all, std::size_t server, request r) {
  const bool continues = r.kind == task::list || r.kind == task::inspect;
  send_to(server, r, [this, all, server, continues, r, alive = alive_](const outcome& o) mutable {
    if (!*alive) return;
    if (const auto* part = std::get_if<tickets::reply>(&o); continues && part != nullptr && all->done) {
      if (const auto* next = std::get_if<tickets::more>(part)) {
        r.listed = next->listed;
        scheduler_.cancel(std::exchange(all->limit, 0));
        limit(all, scheduler_.now());
        return send_part(all, server, std::move(r));
      }
    }
    all->all[server] = o;
    if (all->failed && std::holds_alternative<store::request_error>(o)) all->failed(server);
    const bool is_last = --all->due == 0;
    auto decided = all->decide(all->all, is_last);
    if (!all->done) return;
    if (!decided && is_last) decided = too_few(all->all);
    if (!decided) return;
    scheduler_.cancel(std::exchange(all->limit, 0));
    answer(std::exchange(all->done, nullptr), std::move(*decided));
  });
}

/// A hold is kept if a majority has kept it, and lost if a majority cannot be reached any more.
void coordinator::renew(const request& batch, on_reply done) {
  ask_all(batch,
          renewal_of(batch.batch, [this](const owner_id& owner, std::size_t server,
                                         bool has_it) { spread(owner, server, has_it); }),
          std::move(done));
}

/// What a majority says of a renewal. \param at_server called once for each hold and each server that has
/// answered, also behind the end of the round, if the hold has a majority or the server's answer is no vote;
/// may be null.
coordinator::decision coordinator::renewal_of(
    std::vector<store::hold> holds,
    std::function<void(const owner_id&, std::size_t server, bool has_it)> at_server) const {
  // By server and hold, as a late answer may complete the majority of a hold after others are done.
  const auto seen = std::make_shared<std::vector<char>>(settings_.servers * holds.size(), false);
  return [this, holds = std::move(holds), at_server = std::move(at_server), seen](
             const outcomes& all, bool is_last) -> std::optional<outcome> {
    tickets::kept answer;
    const std::size_t spare = settings_.servers - majority();
    bool is_decided = true;
    for (std::size_t h = 0; h < holds.size(); ++h) {
      std::size_t yes = 0;
      std::size_t no = 0;
      for (std::size_t i = 0; i < all.size(); ++i) {
        const auto* const k = reply_in<tickets::kept>(all[i]);
        if (k == nullptr || std::find(k->unsure.begin(), k->unsure.end(), h) != k->unsure.end()) continue;
        if (!k->each.at(h))
          ++no;
        else if (counts(holds[h].owner, i))
          ++yes;
      }
      answer.each.push_back(yes >= majority());
      if (yes < majority() && no <= spare) {
        is_decided = false;
        answer.unsure.push_back(h);
      }
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto* const k = reply_in<tickets::kept>(all[i]);
      if (!at_server || k == nullptr) continue;
      for (std::size_t h = 0; h < holds.size(); ++h) {
        const bool has_it = k->each.at(h);
        const bool is_told = answer.each[h] || (has_it && !counts(holds[h].owner, i));
        if (is_told && !std::exchange(seen->at(i * holds.size() + h), true))
          at_server(holds[h].owner, i, has_it);
      }
    }
    if (failures_in(all) > spare && is_last) return outcome{too_few(all)};
    if (!is_decided && !is_last) return std::nullopt;
    return outcome{tickets::reply{std::move(answer)}};
  };
}

/// Whether a server that has renewed a hold of the owner has renewed a vote for its claim.
bool coordinator::counts(const owner_id& owner, std::size_t server) const {
  const auto found = claims_.find(owner);
  return found == claims_.end() || found->second->machine.counts_at(server);
}

/// A server that does not have a hold is claimed, so that the hold survives the loss of another one. So is
/// one that has something of the owner that is no vote for this claim. The answer says whether it is one: a
/// former claim, whose withdrawal is still on its way, is replaced; and a yield that was not answered goes
/// first. Without that answer, what comes late would take the vote away.
void coordinator::spread(const owner_id& owner, std::size_t server, bool has_it) {
  const auto found = claims_.find(owner);
  if (found == claims_.end() || !found->second->machine.holds()) return;
  contender& machine = found->second->machine;
  if (has_it && machine.counts_at(server))
    return carry_out(found->second, machine.tell_token(scheduler_.now(), server));
  // A notification that was read together with the answer is heard behind it: see below.
  uses_.soon([this, owner, server, alive = alive_] {
    if (*alive) claim_at(owner, server);
  });
}

/// A hold that is being ended by force, on one server after the other, would be made again behind that. A
/// false notification costs a spare vote for a while.
void coordinator::claim_at(const owner_id& owner, std::size_t server) {
  const auto found = claims_.find(owner);
  if (found == claims_.end() || scheduler_.now() < found->second->revoked_until) return;
  contender& machine = found->second->machine;
  if (machine.holds()) carry_out(found->second, machine.claim_at_missing(scheduler_.now(), server));
}

void coordinator::downgrade(const request& r, on_reply done) {
  if (const auto found = claims_.find(r.owner); found != claims_.end()) found->second->machine.lower();
  change(r, std::move(done));
}

void coordinator::annotate(request r, on_reply done) {
  if (const auto found = claims_.find(r.owner); found != claims_.end())
    r.metadata = found->second->machine.annotate(std::move(r.metadata));
  change(r, std::move(done));
}

/// Changes a hold on a majority.
void coordinator::change(const request& r, on_reply done) {
  ask_all(
      r,
      [this](const outcomes& all, bool is_last) -> std::optional<outcome> {
        if (count_of<tickets::done>(all) >= majority()) return outcome{tickets::reply{tickets::done{}}};
        if (count_of<tickets::nothing>(all) > settings_.servers - majority())
          return outcome{tickets::reply{tickets::nothing{}}};
        if (is_last) return outcome{too_few(all)};
        return std::nullopt;
      },
      std::move(done));
}

void coordinator::inspect(const request& r, on_reply done) {
  const std::string name = r.name;
  ask_all(
      r,
      [this, name](const outcomes& all, bool is_last) -> std::optional<outcome> {
        if (!is_last && !is_complete(all)) return std::nullopt;
        const state_answers answers = answers_in<std::optional<lock_state>>(all, settings_.places);
        if (said_in(answers) < majority()) return outcome{too_few(all)};
        return outcome{tickets::reply{view_of(name, answers, majority())}};
      },
      std::move(done));
}

void coordinator::list(request r, on_reply done) {
  const bool idle = r.idle;
  r.listed.reset();
  ask_all(
      r,
      [this, idle](const outcomes& all, bool is_last) -> std::optional<outcome> {
        if (!is_last && !is_complete(all)) return std::nullopt;
        const listings answers = answers_in<std::vector<lock_summary>>(all, settings_.places);
        if (said_in(answers) < majority()) return outcome{too_few(all)};
        return outcome{tickets::reply{view_of(answers, majority(), idle)}};
      },
      std::move(done));
}

/// Whether all have answered but those that were silent before: a look waits once for a server that is
/// silent.
bool coordinator::is_complete(const outcomes& all) const {
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!all[i] && !is_silent_[i]) return false;
  return true;
}

/// Ends holds by force, or asks for their release. By the owners of the holds: a server that has granted a
/// claim may not know its final token.
void coordinator::for_each_hold(const request& r, on_reply done) {
  request look;
  look.kind = task::inspect;
  look.name = r.name;
  look.waiters_read = 0;
  inspect(look, [this, r, done = std::move(done)](const outcome& o) {
    const auto* const reply = std::get_if<tickets::reply>(&o);
    if (reply == nullptr) return done(o);
    const auto* const state = std::get_if<std::optional<lock_state>>(reply);
    std::vector<claim_state> holders;
    bool is_foreign = false;
    if (state != nullptr && *state) {
      for (const claim_state& each : (*state)->holders) {
        if (!owner_id::from_hex(each.owner)) {
          is_foreign = true;
        } else if (each.token >= r.token && each.token <= r.last) {
          holders.push_back(each);
        }
      }
    }
    if (holders.empty() && is_foreign) {
      return done(store::request_error{
          {errc::wrong_type,
           r.kind == task::request_release
               ? "a client of another library holds the lock, which cannot be asked"
               : "a client of another library holds the lock, and Holdfast leaves its keys alone; "
                 "delete them on the servers if no program works under that lock"}});
    }
    send_for_each(r, holders, done);
  });
}

void coordinator::send_for_each(const request& of, const std::vector<claim_state>& holders,
                                const on_reply& done) {
  if (holders.empty()) return done(tickets::reply{tickets::count{0}});
  struct ends {
    std::size_t due = 0;
    std::size_t ended = 0;
    std::optional<outcome> problem;
  };
  const auto all = std::make_shared<ends>();
  all->due = holders.size();
  for (const claim_state& each : holders) {
    request r = of;
    if (r.kind == task::force_release) r.step = tickets::ballot_step::end;
    r.token = {};
    // No claim's number is above its token.
    r.last = r.kind == task::force_release ? each.token : request{}.last;
    r.owner = *owner_id::from_hex(each.owner);
    ask_all(
        r,
        [this](const outcomes& heard, bool is_last) -> std::optional<outcome> {
          if (!is_last && !is_complete(heard)) return std::nullopt;
          if (count_of<tickets::count>(heard) < majority()) return outcome{too_few(heard)};
          const bool was_there = std::any_of(heard.begin(), heard.end(), [](const auto& o) {
            const auto* const ended = reply_in<tickets::count>(o);
            return ended != nullptr && ended->value != 0;
          });
          return outcome{tickets::reply{tickets::count{was_there ? std::size_t{1} : 0}}};
        },
        [all, done](const outcome& o) {
          const auto* const reply = std::get_if<tickets::reply>(&o);
          if (reply == nullptr)
            all->problem = o;
          else if (const auto* ended = std::get_if<tickets::count>(reply))
            all->ended += ended->value;
          if (--all->due != 0) return;
          done(all->problem ? *all->problem : outcome{tickets::reply{tickets::count{all->ended}}});
        });
  }
}

}  // namespace holdfast::quorum
