#include "stores/redis/protocol/sentinel_findings.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

namespace holdfast::redis {

namespace {

using grade = finding::grade;

constexpr std::size_t most_sentinels = 1000;  // whatever one says

/// A field of a map, which older versions send as a list.
std::string_view field_of(const value& map, std::string_view name) {
  for (std::size_t i = 0; i + 1 < map.items.size(); i += 2)
    if (map.items[i].text == name) return map.items[i + 1].text;
  return {};
}

class examination {
 public:
  examination(const std::vector<sentinel_facts>& all, std::string_view name, const std::string& user)
      : all_{all}, name_{name}, user_{user.empty() ? "default" : user} {
    for (const sentinel_facts& each : all_) {
      if (each.problem.message.empty() && !each.primary && !each.id.empty()) strangers_.insert(each.id);
      if (!each.tells()) continue;
      sentinels_ = std::max(sentinels_, each.others.size() + 1);
    }
  }

  std::vector<finding> run() && {
    for (const sentinel_facts& each : all_) examine_sentinel(each);
    examine_primary();
    examine_quorum();
    examine_size();
    return std::move(found_);
  }

 private:
  void add(std::string condition, grade result, std::string observed, std::string meaning = {},
           std::string remedy = {}) {
    add_of("the primary '" + name_ + "'", std::move(condition), result, std::move(observed),
           std::move(meaning), std::move(remedy));
  }
  void add_of(std::string subject, std::string condition, grade result, std::string observed,
              std::string meaning = {}, std::string remedy = {}) {
    found_.push_back({std::move(subject), std::move(condition), result, std::move(observed),
                      std::move(meaning), std::move(remedy)});
  }

  void examine_sentinel(const sentinel_facts& sentinel) {
    if (!sentinel.problem.message.empty()) {
      return add_of(sentinel.place, "sentinel", grade::warning, sentinel.problem.message,
                    "a majority of the others has to agree on a failover without it", "start the Sentinel");
    }
    if (!sentinel.primary) {
      return add_of(sentinel.place, "sentinel", grade::warning,
                    "it does not know the primary '" + name_ + "'",
                    "it takes no part in a failover, and clients that ask it lose time",
                    "SENTINEL MONITOR " + name_ + " HOST PORT QUORUM");
    }
    add_of(sentinel.place, "sentinel", grade::kept,
           "it says that '" + name_ + "' is at " + sentinel.primary->place());
  }

  /// SENTINEL RESET would make a Sentinel forget the others, and keep the primary that it has.
  void examine_primary() {
    const auto primary = named_by_most(all_);
    if (!primary) {
      return add("primary", grade::broken, "no Sentinel names a primary",
                 "no client finds the server of the locks",
                 "SENTINEL MONITOR " + name_ + " HOST PORT QUORUM at each Sentinel");
    }
    std::string others;
    std::string wrong;
    std::int64_t quorum = 0;
    for (const sentinel_facts& each : all_) {
      if (!each.primary) continue;
      quorum = std::max(quorum, each.quorum);
      if (*each.primary == *primary) continue;
      others.append(", and ").append(each.place).append(" that it is at ").append(each.primary->place());
      wrong.append(wrong.empty() ? "" : ", ").append(each.place);
    }
    if (others.empty()) {
      return add("primary", grade::kept, "the Sentinels that answer say that it is at " + primary->place());
    }
    add("primary", grade::broken, "most Sentinels say that it is at " + primary->place() + others,
        "that is so for a moment in a failover; otherwise clients may use different ones, and two may hold",
        "if the others are right, at " + wrong + ": SENTINEL REMOVE " + name_ + "; SENTINEL MONITOR " +
            name_ + ' ' + primary->host + ' ' + primary->port + ' ' +
            (quorum > 0 ? std::to_string(quorum) : std::string{"QUORUM"}) +
            "; and its other settings anew (SENTINEL SET " + name_ + " OPTION VALUE)");
  }

  /// Those that one counts on for a failover, itself included.
  [[nodiscard]] std::size_t voters_of(const sentinel_facts& sentinel) const {
    return 1 + static_cast<std::size_t>(std::ranges::count_if(sentinel.others, [&](const auto& each) {
             return !each.is_down && !strangers_.contains(each.id);
           }));
  }
  /// Why it could decide on no failover; empty: it could.
  [[nodiscard]] std::string obstacle_of(const sentinel_facts& sentinel) const {
    if (!sentinel.check_problem.empty()) return sentinel.check_problem;
    const std::size_t voters = voters_of(sentinel);
    if (2 * voters > sentinel.others.size() + 1) return {};
    return std::to_string(voters) + " of " + std::to_string(sentinel.others.size() + 1) +
           " Sentinels can vote";
  }

  void examine_quorum() {
    const sentinel_facts* best = nullptr;
    const sentinel_facts* worst = nullptr;
    std::string refusal;
    for (const sentinel_facts& each : all_) {
      if (!each.check_refusal.empty()) refusal = each.place + " answers " + each.check_refusal;
      if (!each.tells()) continue;
      const bool is_able = obstacle_of(each).empty();
      if (!is_able) worst = &each;
      if (is_able && (best == nullptr || voters_of(each) > voters_of(*best))) best = &each;
    }
    if (best == nullptr && worst == nullptr) {
      if (refusal.empty()) return;  // none knows the primary
      return add(
          "quorum", grade::unknown, refusal, "whether a failover could be decided was not examined",
          "ACL SETUSER " + user_ +
              " +sentinel|ckquorum +sentinel|sentinels +sentinel|master +sentinel|myid at each Sentinel");
    }
    const std::string start = "start the Sentinels that are away; if one is gone for good: SENTINEL RESET " +
                              name_ + " at each other one, one after the other";
    if (best == nullptr) {
      return add("quorum", grade::broken, worst->place + " says: " + obstacle_of(*worst),
                 "no failover can be decided: when the primary fails, no lock can be acquired or renewed",
                 start);
    }
    const std::size_t voters = voters_of(*best);
    const std::size_t total = best->others.size() + 1;
    const auto needed =
        std::max(total / 2 + 1, static_cast<std::size_t>(std::max<std::int64_t>(best->quorum, 0)));
    const std::string observed = std::to_string(voters) + " of " + std::to_string(total) +
                                 " Sentinels can vote on a failover, and " + std::to_string(needed) +
                                 " have to";
    if (worst != nullptr) {
      return add("quorum", grade::warning, observed + "; " + worst->place + " says: " + obstacle_of(*worst),
                 "that Sentinel reaches too few others, and decides on no failover", start);
    }
    if (voters < total) {
      return add("quorum", grade::warning, observed, "while more are away, no failover can be decided",
                 start);
    }
    add("quorum", grade::kept, observed);
  }

  void examine_size() {
    if (sentinels_ == 0) return;
    const std::string more = "let another Sentinel monitor it: three or five on hosts of their own";
    const std::string observed = sentinels_ == 1 ? std::string{"one Sentinel monitors it"}
                                                 : std::to_string(sentinels_) + " Sentinels monitor it";
    if (sentinels_ < 3) {
      add("size", grade::warning, observed,
          sentinels_ == 1 ? "while it is away, or cut off, no failover can be decided"
                          : "while one of them is away no failover can be decided",
          more);
    } else if (sentinels_ % 2 == 0) {
      add("size", grade::warning, observed,
          "as many may fail as with one less: " + std::to_string((sentinels_ - 1) / 2), more);
    } else {
      add("size", grade::kept, observed);
    }
    if (sentinels_ > 1 && all_.size() == 1) {
      add("addresses", grade::warning, "the URL names one of them",
          "clients do not find the primary while that Sentinel is away", "name all Sentinels in the URL");
    }
  }

  const std::vector<sentinel_facts>& all_;
  std::string name_;
  std::string user_;
  std::set<std::string> strangers_;  // Sentinels that do not know the primary: they have no vote
  std::size_t sentinels_ = 0;        // that there are, also beside those of the URL
  std::vector<finding> found_;
};

}  // namespace

void sentinel_facts::hear(const value& sentinels, const value& check, const value& master,
                          const value& own_id) {
  if (own_id.is(value::kind::text)) id = own_id.text;
  const std::string_view number = field_of(master, "quorum");
  std::from_chars(number.data(), number.data() + number.size(), quorum);
  const auto refuse = [&](const value& reply) {
    check_refusal = reply.is(value::kind::error) ? reply.text : "what no Sentinel answers";
  };
  if (!sentinels.is(value::kind::list)) return refuse(sentinels);
  for (const value& each : sentinels.items) {
    if (others.size() == most_sentinels) break;
    const bool is_down = field_of(each, "flags").find("s_down") != std::string_view::npos;
    others.push_back({std::string{field_of(each, "runid")}, is_down});
  }
  if (check.is(value::kind::error) && check.text.starts_with("NOQUORUM")) {
    check_problem = check.text;
  } else if (!check.is(value::kind::text)) {
    refuse(check);
  }
}

std::vector<finding> findings_of(const std::vector<sentinel_facts>& all, std::string_view name,
                                 const std::string& user) {
  return examination{all, name, user}.run();
}

std::optional<server_address> named_by_most(const std::vector<sentinel_facts>& all) {
  std::vector<server_address> named;
  for (const sentinel_facts& each : all)
    if (each.primary) named.push_back(*each.primary);
  if (named.empty()) return std::nullopt;
  const auto votes = [&](const server_address& primary) { return std::ranges::count(named, primary); };
  return *std::ranges::max_element(named, {}, votes);
}

}  // namespace holdfast::redis
