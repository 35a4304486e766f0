#include "stores/redis/link/diagnosis.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "runtime/signals.hpp"
#include "runtime/wakeup_fd.hpp"
#include "stores/quorum/protocol/problem_list.hpp"
#include "stores/redis/link/conversation.hpp"
#include "stores/redis/link/server_questions.hpp"
#include "stores/redis/link/set_findings.hpp"
#include "stores/redis/protocol/replies.hpp"
#include "stores/redis/protocol/sentinel_replies.hpp"
#include "stores/redis/protocol/slot_map.hpp"

namespace holdfast::redis {

namespace {

using std::chrono::milliseconds;
using grade = finding::grade;

constexpr std::size_t most_primaries = 200;  // whatever a cluster's map says

/// The servers of a URL, one after the other.
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
      examine_server(in_.server);
    }
    return std::move(found_);
  }

 private:
  [[nodiscard]] conversation talk_to(const server_address& to, const credentials& login) const {
    return {in_, to, login, secure_.get(), never_.descriptor()};
  }
  void add(std::string subject, std::string condition, grade result, std::string observed,
           std::string meaning = {}, std::string remedy = {}) {
    found_.push_back({std::move(subject), std::move(condition), result, std::move(observed),
                      std::move(meaning), std::move(remedy)});
  }

  server_facts examine_server(const server_address& at) {
    return examine(facts_of(in_, at, secure_.get(), never_.descriptor()));
  }
  server_facts examine(server_facts facts) {
    has_answer_ = true;
    facts.has_failover = has_failover_;
    std::ranges::move(findings_of(facts, in_.speech, longest_ttl_), std::back_inserter(found_));
    return facts;
  }
  /// Says that one of many does not answer.
  void add_silent(const server_address& at, grade if_silent, const std::string& meaning) {
    const bool is_refused = last_problem_.code == errc::permission_denied;
    add(at.place(), "answer", if_silent, last_problem_.message, meaning,
        is_refused ? "give the user and the password of the store's URL to this server, or correct the URL's"
                   : "start the server, or look at its network and its log");
  }
  /// Empty: it does not answer, which is a finding.
  std::optional<server_facts> examine_one_of_many(const server_address& at, grade if_silent,
                                                  const std::string& meaning) {
    try {
      return examine_server(at);
    } catch (const connection_error& c) {
      last_problem_ = c.reason;
    } catch (const parser::garbage& g) {
      last_problem_ = not_redis(g);
    }
    add_silent(at, if_silent, meaning);
    return std::nullopt;
  }

  /// Of one of several servers that are asked at the same time.
  struct answer {
    std::optional<server_facts> facts;
    failure problem;           // where there are none
    std::exception_ptr error;  // what is no fault of the server
  };
  static failure not_redis(const parser::garbage& g) {
    return {errc::corrupt_store, std::string{"it does not answer as Redis does: "} + g.what()};
  }
  [[nodiscard]] answer ask_server(const server_address& at) const noexcept;
  [[nodiscard]] std::vector<answer> ask_at_once() const;
  [[nodiscard]] std::optional<server_address> primary_of_sentinels();
  [[nodiscard]] std::optional<server_address> hear_sentinel(const server_address& at);
  [[nodiscard]] slot_map slots() const;
  void examine_sentinels();
  void examine_cluster();
  void examine_quorum();

  const settings& in_;
  milliseconds longest_ttl_;
  std::unique_ptr<tls_context> secure_;
  runtime::wakeup_fd never_;
  failure last_problem_;
  bool has_answer_ = false;    // of any server or Sentinel
  bool has_failover_ = false;  // others may promote a replica
  std::vector<finding> found_;
};

// ---- Sentinels

std::optional<server_address> survey::hear_sentinel(const server_address& at) {
  try {
    conversation with = talk_to(at, in_.sentinel.login);
    std::string question;
    append_address_question(question, in_.sentinel.primary);
    const auto primary = primary_address_in(with.ask_as_written(question));
    has_answer_ = true;
    if (primary) {
      add(at.place(), "sentinel", grade::kept,
          "it says that '" + in_.sentinel.primary + "' is at " + primary->place());
    } else {
      add(at.place(), "sentinel", grade::warning,
          "it does not know the primary '" + in_.sentinel.primary + "'",
          "it takes no part in a failover, and clients that ask it lose time",
          "SENTINEL MONITOR " + in_.sentinel.primary + " HOST PORT QUORUM");
    }
    return primary;
  } catch (const connection_error& c) {
    last_problem_ = c.reason;
  } catch (const parser::garbage& g) {
    last_problem_ = not_redis(g);
  } catch (const misunderstood&) {
    last_problem_ = {errc::corrupt_store, "its answer is not the address of a server"};
  }
  add(at.place(), "sentinel", grade::warning, last_problem_.message,
      "a majority of the others has to agree on a failover without it", "start the Sentinel");
  return std::nullopt;
}

void survey::examine_sentinels() {
  has_failover_ = true;
  const auto primary = primary_of_sentinels();
  if (primary)
    examine_one_of_many(*primary, grade::broken, "no lock can be acquired or renewed until it is followed");
}

/// The server that most of them name; empty: none names one, which is a finding.
std::optional<server_address> survey::primary_of_sentinels() {
  std::vector<server_address> named;
  for (const server_address& sentinel : in_.sentinel.addresses) {
    if (auto primary = hear_sentinel(sentinel)) named.push_back(*std::move(primary));
  }
  if (!has_answer_) throw connection_error{last_problem_};
  if (named.empty()) {
    add(in_.place(), "quorum", grade::broken, "no Sentinel names a primary",
        "no client finds the server of the locks",
        "SENTINEL MONITOR " + in_.sentinel.primary + " HOST PORT QUORUM at each Sentinel");
    return std::nullopt;
  }
  const auto votes = [&](const server_address& one) { return std::ranges::count(named, one); };
  server_address primary = *std::ranges::max_element(named, {}, votes);
  const std::string place = in_.place();
  const auto agreed = static_cast<std::size_t>(votes(primary));
  const std::string observed = std::to_string(agreed) + " of " +
                               std::to_string(in_.sentinel.addresses.size()) + " Sentinels say that it is " +
                               primary.place();
  if (2 * agreed > in_.sentinel.addresses.size()) {
    add(place, "quorum", grade::kept, observed);
  } else {
    add(place, "quorum", grade::broken, observed,
        "no majority can decide on a failover, or two primaries are named: clients may use different ones",
        "start the Sentinels that do not answer; SENTINEL RESET " + in_.sentinel.primary +
            " at those that name another");
  }
  return primary;
}

// ---- a cluster

slot_map survey::slots() const {
  std::optional<connection_error> problem;
  for (const server_address& node : in_.cluster) {
    try {
      conversation with = talk_to(node, in_.login);
      std::string question;
      slot_map::append_question(question);
      slot_map map = slot_map::read(with.ask_as_written(question), node);
      if (!map.is_empty()) return map;
      problem.emplace(failure{errc::unavailable, node.place() + " knows of no slot"});
    } catch (const connection_error& c) {
      problem.emplace(c);
    } catch (const parser::garbage& g) {
      problem.emplace(
          failure{errc::corrupt_store, node.place() + " does not answer as Redis does: " + g.what()});
    } catch (const misunderstood&) {
      problem.emplace(failure{errc::foreign_store, node.place() + " is no node of a cluster"});
    }
  }
  throw connection_error{*problem};
}

void survey::examine_cluster() {
  const slot_map map = slots();
  has_failover_ = !map.replicas().empty();
  std::size_t without = 0;
  for (std::uint16_t slot = 0; slot < slot_count; ++slot) without += map.primary_of(slot) == nullptr ? 1 : 0;
  if (without == 0) {
    add("cluster", "slots", grade::kept, "each slot has a primary");
  } else {
    add("cluster", "slots", grade::broken, std::to_string(without) + " slots have no primary",
        "names in these slots cannot be locked", "redis-cli --cluster fix HOST:PORT");
  }
  auto primaries = map.primaries();
  if (primaries.size() > most_primaries) {
    add("cluster", "primaries", grade::unknown,
        "there are " + std::to_string(primaries.size()) + " primaries",
        "the first " + std::to_string(most_primaries) + " alone were examined",
        "examine the others as stores of their own");
    primaries.resize(most_primaries);
  }
  for (const server_address& primary : primaries)
    examine_one_of_many(primary, grade::broken, "names in its slots cannot be locked until it is followed");
}

// ---- several independent servers

/// Never throws: it runs on a thread.
survey::answer survey::ask_server(const server_address& at) const noexcept {
  answer of;
  try {
    of.facts = facts_of(in_, at, secure_.get(), never_.descriptor());
  } catch (const connection_error& c) {
    of.problem = c.reason;
  } catch (const parser::garbage& g) {
    of.problem = not_redis(g);
  } catch (...) {
    of.error = std::current_exception();
  }
  return of;
}

/// Several of them may be silent, each for the whole time limit. As many answers as there are servers.
std::vector<survey::answer> survey::ask_at_once() const {
  std::vector<answer> all(in_.quorum.size());
  std::vector<std::thread> threads;
  threads.reserve(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto ask = [&, i] { all[i] = ask_server(in_.quorum[i]); };
    try {
      threads.push_back(runtime::quiet_thread(ask));
    } catch (...) {  // no room for a thread: one after the other
      ask();
    }
  }
  for (std::thread& each : threads) each.join();
  return all;
}

void survey::examine_quorum() {
  std::vector<server_facts> answers;
  std::vector<failure> problems;
  quorum::problem_list reasons;
  std::vector<answer> all = ask_at_once();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const server_address& at = in_.quorum[i];
    if (all[i].error) std::rethrow_exception(all[i].error);
    if (all[i].facts) {
      answers.push_back(examine(*std::move(all[i].facts)));
      continue;
    }
    last_problem_ = all[i].problem;
    add_silent(at, grade::warning, "it has no vote; the others have to be a majority");
    reasons.add(at.place(), quorum::with_place(at.place(), last_problem_.message));
    problems.push_back(last_problem_);
  }
  if (answers.empty()) {
    const bool is_common = std::ranges::all_of(
        problems, [&](const failure& each) { return each.code == problems.front().code; });
    const std::string text = reasons.text().substr(std::string_view{"; "}.size());
    throw connection_error{{is_common ? problems.front().code : errc::unavailable, text}};
  }
  std::ranges::move(findings_of_set(in_, answers), std::back_inserter(found_));
}

}  // namespace

std::vector<finding> diagnose(const settings& of, std::chrono::nanoseconds longest_ttl) {
  try {
    return survey{of, std::chrono::ceil<milliseconds>(longest_ttl)}.run();
  } catch (const parser::garbage& g) {
    throw connection_error{
        {errc::corrupt_store, std::string{"what answers there is no Redis server: "} + g.what()}, false};
  }
}

}  // namespace holdfast::redis
