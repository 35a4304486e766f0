#include "stores/redis/link/diagnosis.hpp"

#include <algorithm>
#include <atomic>
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
#include "stores/redis/protocol/sentinel_findings.hpp"
#include "stores/redis/protocol/slot_map.hpp"

namespace holdfast::redis {

namespace {

using std::chrono::milliseconds;
using grade = finding::grade;

constexpr std::size_t most_primaries = 200;  // whatever a cluster's map says
constexpr std::size_t most_threads = 32;     // beside this one

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
      examine(facts_of(in_, in_.server, secure_.get(), never_.descriptor()));
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

  server_facts examine(server_facts facts) {
    facts.has_failover = has_failover_;
    std::ranges::move(findings_of(facts, in_.speech, longest_ttl_), std::back_inserter(found_));
    return facts;
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
  [[nodiscard]] std::vector<answer> ask_at_once(const std::vector<server_address>& servers) const;
  /// Empty: it does not answer, which is a finding.
  std::optional<server_facts> add_answer(const server_address& at, answer from, grade if_silent,
                                         const std::string& meaning);
  [[nodiscard]] sentinel_facts hear_sentinel(const server_address& at) const;
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

// ---- Sentinels

sentinel_facts survey::hear_sentinel(const server_address& at) const {
  sentinel_facts silent;
  silent.place = at.place();
  try {
    return facts_of_sentinel(in_, at, secure_.get(), never_.descriptor());
  } catch (const connection_error& c) {
    silent.problem = c.reason;
  } catch (const parser::garbage& g) {
    silent.problem = not_redis(g);
  } catch (const misunderstood&) {
    silent.problem = {errc::corrupt_store, "its answer is not the address of a server"};
  }
  return silent;
}

void survey::examine_sentinels() {
  has_failover_ = true;
  std::vector<sentinel_facts> all;
  all.reserve(in_.sentinel.addresses.size());
  for (const server_address& each : in_.sentinel.addresses) all.push_back(hear_sentinel(each));
  const auto is_silent = [](const sentinel_facts& each) { return !each.problem.message.empty(); };
  if (std::ranges::all_of(all, is_silent)) throw connection_error{all.back().problem};
  std::ranges::move(findings_of(all, in_.sentinel.primary, in_.sentinel.login.user),
                    std::back_inserter(found_));
  if (const auto primary = named_by_most(all)) {
    add_answer(*primary, ask_server(*primary), grade::broken,
               "no lock can be acquired or renewed until it is followed");
  }
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
  std::vector<answer> all = ask_at_once(primaries);
  for (std::size_t i = 0; i < all.size(); ++i) {
    add_answer(primaries[i], std::move(all[i]), grade::broken,
               "names in its slots cannot be locked until it is followed");
  }
}

// ---- several servers

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
std::vector<survey::answer> survey::ask_at_once(const std::vector<server_address>& servers) const {
  std::vector<answer> all(servers.size());
  std::atomic<std::size_t> next = 0;
  const auto ask = [&] {
    for (std::size_t i = next++; i < servers.size(); i = next++) all[i] = ask_server(servers[i]);
  };
  std::vector<std::thread> threads;
  threads.reserve(std::min(servers.size(), most_threads));
  bool has_room = true;
  while (has_room && threads.size() < std::min(servers.size(), most_threads)) {
    try {
      threads.push_back(runtime::quiet_thread(ask));
    } catch (...) {  // this thread asks the rest
      has_room = false;
    }
  }
  ask();
  for (std::thread& each : threads) each.join();
  return all;
}

std::optional<server_facts> survey::add_answer(const server_address& at, answer from, grade if_silent,
                                               const std::string& meaning) {
  if (from.error) std::rethrow_exception(from.error);
  if (from.facts) return examine(*std::move(from.facts));
  const bool is_refused = from.problem.code == errc::permission_denied;
  add(at.place(), "answer", if_silent, from.problem.message, meaning,
      is_refused ? "give the user and the password of the store's URL to this server, or correct the URL's"
                 : "start the server, or look at its network and its log");
  return std::nullopt;
}

void survey::examine_quorum() {
  std::vector<server_facts> answers;
  std::vector<failure> problems;
  quorum::problem_list reasons;
  std::vector<answer> all = ask_at_once(in_.quorum);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const server_address& at = in_.quorum[i];
    const failure problem = all[i].problem;
    if (auto facts = add_answer(at, std::move(all[i]), grade::warning,
                                "it has no vote; the others have to be a majority")) {
      answers.push_back(*std::move(facts));
      continue;
    }
    reasons.add(at.place(), quorum::with_place(at.place(), problem.message));
    problems.push_back(problem);
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
