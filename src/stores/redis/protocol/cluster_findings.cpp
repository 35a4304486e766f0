#include <string>
#include <utility>

#include "stores/redis/protocol/server_facts.hpp"

namespace holdfast::redis {

namespace {

using grade = finding::grade;

/// What a primary says of its cluster.
class examination {
 public:
  examination(const server_facts& facts, std::vector<finding>& to) : facts_{facts}, to_{to} {}

  void run() {
    examine_state();
    if (!facts_.info.empty()) examine_failover();
  }

 private:
  void add(std::string condition, grade result, std::string observed, std::string meaning = {},
           std::string remedy = {}) {
    to_.push_back({facts_.place, std::move(condition), result, std::move(observed), std::move(meaning),
                   std::move(remedy)});
  }

  void examine_state() {
    const std::string look = "start the nodes that are away; redis-cli --cluster check " + facts_.place;
    const std::string state{facts_.state("cluster_state")};
    if (state.empty()) {
      return add("cluster state", grade::unknown, "CLUSTER INFO is answered with " + facts_.cluster_error,
                 "whether this node serves its slots was not examined",
                 "if the user may not: ACL SETUSER " + facts_.user + " +cluster|info");
    }
    if (state != "ok") {
      return add("cluster state", grade::broken, "cluster_state is " + state,
                 "it reaches no majority, or a slot is not served: names in its slots cannot be locked",
                 look);
    }
    const std::int64_t away =
        facts_.state_number("cluster_slots_fail") + facts_.state_number("cluster_slots_pfail");
    if (away == 0) return add("cluster state", grade::kept, "cluster_state is ok");
    add("cluster state", grade::warning,
        "cluster_state is ok, and the primary of " + std::to_string(away) + " slots does not answer it",
        "names in those slots cannot be locked until a replica has taken over", look);
  }

  void examine_failover() {
    const std::int64_t replicas = facts_.number("connected_slaves");
    if (replicas > 0)
      return add("failover", grade::kept,
                 std::to_string(replicas) + (replicas == 1 ? " replica follows it" : " replicas follow it"));
    add("failover", grade::warning, "no replica follows it",
        "when it fails, names in its slots cannot be locked until it is back",
        "redis-cli --cluster add-node NEW:PORT " + facts_.place +
            " --cluster-slave --cluster-master-id ID, with the ID that CLUSTER MYID has here");
  }

  const server_facts& facts_;
  std::vector<finding>& to_;
};

}  // namespace

void examine_cluster(const server_facts& facts, std::vector<finding>& to) {
  if (facts.cluster) examination{facts, to}.run();
}

}  // namespace holdfast::redis
