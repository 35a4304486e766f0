#include "stores/redis/link/diagnosis.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include "base/shell_word.hpp"
#include "runtime/signals.hpp"
#include "runtime/wakeup_fd.hpp"
#include "stores/quorum/protocol/problem_list.hpp"
#include "stores/redis/link/conditions.hpp"
#include "stores/redis/link/dial.hpp"
#include "stores/redis/link/questions.hpp"
#include "stores/redis/protocol/keys.hpp"
#include "stores/redis/protocol/replies.hpp"
#include "stores/redis/protocol/slot_map.hpp"

namespace holdfast::redis {

namespace {

using doctor::examine;
using doctor::facts;
using std::chrono::milliseconds;

constexpr std::size_t most_threads = 32;  // beside this one

/// The servers of a URL.
class survey {
 public:
  survey(const settings& in, milliseconds longest_ttl) : in_{in}, longest_ttl_{longest_ttl} {
    if (in.tls.on) secure_ = std::make_unique<tls_context>(in);
  }

  std::vector<finding> run() && {
    if (in_.has_sentinels()) {
      examine_sentinels();
    } else if (in_.is_cluster()) {
      examine_cluster();
    } else if (in_.is_quorum()) {
      examine_quorum();
    } else {
      add(ask(in_.server).findings);
    }
    return std::move(found_);
  }

 private:
  /// Of one of several servers that are asked at the same time.
  struct answer {
    std::optional<server_answers> said;
    failure problem;  // if there are none
  };

  void add(const std::vector<finding>& more) { found_.insert(found_.end(), more.begin(), more.end()); }
  [[nodiscard]] server_answers ask(const server_address& at) const {
    return ask_server(in_, at, has_failover_, longest_ttl_, secure_.get(), never_.descriptor());
  }
  [[nodiscard]] std::vector<answer> ask_at_once(const std::vector<server_address>& servers) const;
  /// \param meaning of its silence.
  void examine_answer(const server_address& at, const answer& from, const std::string& meaning);
  [[nodiscard]] slot_map slots() const;
  void examine_sentinels();
  void examine_cluster();
  void examine_quorum();

  const settings& in_;
  milliseconds longest_ttl_;
  std::unique_ptr<tls_context> secure_;
  runtime::wakeup_fd never_;
  bool has_failover_ = false;  // others may promote a replica
  std::vector<finding> found_;
};

/// Several of them may be silent, each for the whole time limit. As many answers as there are servers.
std::vector<survey::answer> survey::ask_at_once(const std::vector<server_address>& servers) const {
  std::vector<answer> all(servers.size());
  std::atomic<std::size_t> next = 0;
  const auto ask_next = [&] {
    for (std::size_t i = next++; i < servers.size(); i = next++) {
      try {
        all[i].said = ask(servers[i]);
      } catch (const connection_error& c) {
        all[i].problem = c.reason;
      } catch (const error& e) {
        all[i].problem = {e.code(), e.detail()};
      }
    }
  };
  std::vector<std::thread> threads;
  try {
    while (threads.size() + 1 < std::min(servers.size(), most_threads))
      threads.push_back(runtime::quiet_thread(ask_next));
  } catch (const error&) {  // this thread asks the rest
  }
  ask_next();
  for (std::thread& each : threads) each.join();
  return all;
}

void survey::examine_answer(const server_address& at, const answer& from, const std::string& meaning) {
  if (from.said) return add(from.said->findings);
  facts of{at.place()};
  of.set("problem", from.problem.message);
  of.set("meaning", meaning);
  of.set("remedy",
         from.problem.code == errc::permission_denied
             ? "give the user and the password of the store's URL to this server, or correct the URL's"
             : "start the server, or look at its network and its log");
  of.set_flag("votes", in_.is_quorum());
  examine(conditions::answer_conditions, of, found_);
}

// ---- Sentinels

void survey::examine_sentinels() {
  has_failover_ = true;
  std::vector<sentinel_answers> all;
  for (const server_address& each : in_.sentinel.addresses)
    all.push_back(ask_sentinel(in_, each, secure_.get(), never_.descriptor()));
  const auto is_silent = [](const sentinel_answers& each) { return !each.problem.message.empty(); };
  if (std::ranges::all_of(all, is_silent)) throw connection_error{all.back().problem};
  for (const sentinel_answers& each : all) {
    facts of{each.place};
    of.set("primary", in_.sentinel.primary);
    of.set("problem", each.problem.message);
    if (each.primary) of.set("address", each.primary->place());
    of.set("user", in_.sentinel.login.user);
    of.set("check", each.check.text);
    of.set("verdict", each.verdict());
    examine(conditions::sentinel_conditions, of, found_);
  }
  examine(conditions::primary_conditions, conclude(all, in_), found_);
  if (const auto primary = named_by_most(all)) {
    examine_answer(*primary, ask_at_once({*primary}).front(),
                   "no lock can be acquired or renewed until it is followed");
  }
}

// ---- a cluster

slot_map survey::slots() const {
  failure problem;
  for (const server_address& node : in_.cluster) {
    try {
      return ask_slots(in_, node, secure_.get(), never_.descriptor());
    } catch (const connection_error& c) {
      problem = c.reason;
    }
  }
  throw connection_error{problem};
}

void survey::examine_cluster() {
  const slot_map map = slots();
  has_failover_ = !map.replicas().empty();
  std::int64_t without = 0;
  for (std::uint16_t slot = 0; slot < slot_count; ++slot) without += map.primary_of(slot) == nullptr ? 1 : 0;
  facts of{"cluster"};
  of.set("without", without);
  examine(conditions::slot_conditions, of, found_);
  const auto primaries = map.primaries();
  const std::vector<answer> all = ask_at_once(primaries);
  for (std::size_t i = 0; i < all.size(); ++i)
    examine_answer(primaries[i], all[i], "names in its slots cannot be locked until it is followed");
}

// ---- a set of which a majority decides

void survey::examine_quorum() {
  std::vector<failure> problems;
  quorum::problem_list reasons;
  std::vector<server_answers> answers;
  const std::vector<answer> all = ask_at_once(in_.quorum);
  for (std::size_t i = 0; i < all.size(); ++i) {
    examine_answer(in_.quorum[i], all[i], {});
    if (all[i].said) {
      answers.push_back(*all[i].said);
      continue;
    }
    const std::string place = in_.quorum[i].place();
    reasons.add(place, quorum::with_place(place, all[i].problem.message));
    problems.push_back(all[i].problem);
  }
  if (answers.empty()) {
    const bool is_common = std::ranges::all_of(
        problems, [&](const failure& each) { return each.code == problems.front().code; });
    const std::string text = reasons.text().substr(std::string_view{"; "}.size());
    throw connection_error{{is_common ? problems.front().code : errc::unavailable, text}};
  }
  add(findings_of_set(in_, answers));
}

/// The command for a shell that deletes the key of a server's set. Whoever runs it logs in as the server
/// wants.
std::string deletion_of_set(const settings& in, const server_address& at) {
  std::string command = "redis-cli -h " + word_for_shell(at.host) + " -p " + word_for_shell(at.port);
  if (in.database != 0) command += " -n " + std::to_string(in.database);
  return command + " DEL " + key_for_shell(quorum_key(in.speech.prefix));
}

}  // namespace

std::optional<server_address> named_by_most(const std::vector<sentinel_answers>& all) {
  std::vector<server_address> named;
  for (const sentinel_answers& each : all)
    if (each.primary) named.push_back(*each.primary);
  if (named.empty()) return std::nullopt;
  const auto votes = [&](const server_address& primary) { return std::ranges::count(named, primary); };
  return *std::ranges::max_element(named, {}, votes);
}

facts conclude(const std::vector<sentinel_answers>& all, const settings& in) {
  facts of{"the primary '" + in.sentinel.primary + "'"};
  of.set("primary", in.sentinel.primary);
  of.set("count", static_cast<std::int64_t>(all.size()));
  of.set("majority", static_cast<std::int64_t>(all.size() / 2 + 1));
  const auto primary = named_by_most(all);
  if (!primary) return of;
  of.set("address", primary->place());
  of.set("host", primary->host);
  of.set("port", primary->port);
  std::string others;
  std::string wrong;
  std::int64_t knowing = 0;
  std::map<std::string_view, std::int64_t> verdicts;
  for (const sentinel_answers& each : all) {
    if (!each.primary) continue;
    ++knowing;
    ++verdicts[each.verdict()];
    if (*each.primary == *primary) continue;
    others.append(", and ").append(each.place).append(" that it is at ").append(each.primary->place());
    wrong.append(wrong.empty() ? "" : ", ").append(each.place);
  }
  of.set("others", others);
  of.set("wrong", wrong);
  of.set("knowing", knowing);
  of.set("able", verdicts["able"]);
  of.set("unable", verdicts["unable"]);
  return of;
}

std::vector<finding> findings_of_set(const settings& in, const std::vector<server_answers>& answers) {
  std::vector<finding> found;
  std::vector<std::string> places;
  for (const server_address& each : in.quorum) places.push_back(each.place());
  quorum::server_set set{places};  // which the clients use, too
  const auto index_of = [&](const server_answers& one) {
    return static_cast<std::size_t>(std::ranges::find(in.quorum, one.at) - in.quorum.begin());
  };
  for (const server_answers& each : answers)
    set.on_hello(index_of(each), description_of(each.set.value_or(value{}), each.said.text("run_id")));
  std::int64_t others = 0;
  for (const server_answers& each : answers) {
    facts of = each.said;
    if (const auto other = set.other_at(index_of(each))) {
      of.set("other_set", *other);
      of.set("own_set", set.text());
    }
    if (each.set && !each.set->is(value::kind::text) && !each.set->is(value::kind::null)) {
      of.set("set_error", each.set->is(value::kind::error) ? each.set->text : "what is no text");
      of.set("set_type", of.text("set_error").starts_with("WRONGTYPE") ? "wrong" : "unknown");
    }
    of.set("deletion", deletion_of_set(in, each.at));
    of.set("key_grant", key_grant("{", in.speech.prefix));
    if (const auto twin = set.same_process_as(index_of(each))) of.set("twin", places[*twin]);
    others += of.has("other_set") || of.has("set_error") ? 1 : 0;
    examine(conditions::voter_conditions, of, found);
  }
  const auto [least, most] = std::ranges::minmax_element(answers, {}, &server_answers::clock_ahead);
  facts of{"the set"};
  of.set("count", static_cast<std::int64_t>(places.size()));
  of.set("majority", static_cast<std::int64_t>(places.size() / 2 + 1));
  of.set("answers", static_cast<std::int64_t>(answers.size()));
  of.set("others", others);
  of.set("guard", in.speech.guard.count());
  of.set("furthest", dialect::furthest_number.count());
  of.set("apart", std::chrono::duration_cast<milliseconds>(most->clock_ahead - least->clock_ahead).count());
  of.set("first", most->at.place());
  of.set("last", least->at.place());
  examine(conditions::set_conditions, of, found);
  return found;
}

std::vector<finding> diagnose(const settings& of, std::chrono::nanoseconds longest_ttl) {
  return survey{of, std::chrono::ceil<milliseconds>(longest_ttl)}.run();
}

}  // namespace holdfast::redis
