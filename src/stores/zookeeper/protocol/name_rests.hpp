#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/owner_id.hpp"
#include "core/scheduler.hpp"
#include "holdfast/state.hpp"
#include "stores/zookeeper/protocol/operation.hpp"
#include "stores/zookeeper/protocol/ordered_nodes.hpp"

namespace holdfast::zookeeper {

/// A hold that has ended, and for how long the name rests after it. Of permits also one that has leases left:
/// a claim that is released removes them one by one, after its rest has begun.
struct former_hold {
  holdfast::mode mode{};
  std::int64_t permits = 0;
  store::time_point until;
  bool has_begun = true;    // the rest; otherwise the claim holds, as far as is known
  std::int64_t leases = 0;  // that are there still
};

/// What a look at a name shows. Each rest has begun, and none is over.
struct rests_seen {
  std::vector<std::string> contenders;  // the children of the queue
  std::vector<std::string> leases;
  std::vector<former_hold> formers;
};

/// Looks at the marks of former holds, for the claims that have to heed them.
///
/// One look of a client at a name serves all claims that asked before it began. A look begins the rests that
/// nobody has begun, and removes the marks of those that are over. A mark is read once, and
/// again after leases of its hold have gone. What nobody can read
/// as a mark, or remove when it is over, is passed over.
class name_rests {
 public:
  /// \param failed the reason why nothing was seen; null: none.
  using on_seen = std::function<void(const result* failed, const rests_seen& seen)>;

  /// Both must outlive it.
  name_rests(store::scheduler& time, ordered_nodes& nodes) : time_{time}, nodes_{nodes} {}
  ~name_rests();
  name_rests(const name_rests&) = delete;
  name_rests& operator=(const name_rests&) = delete;

  /// \param base the lock's node.
  /// \param queue the parent of its contenders: `base`, or, of a semaphore, `locks` below it.
  /// \param when the latest begin of the look. Another claim may need one sooner.
  /// \param handler is called once, not within the call, unless this object is destroyed before.
  void look(const std::string& base, const std::string& queue, store::time_point when, on_seen handler);
  /// Called when the session has ended. All handlers are called with that reason.
  void expired();

 private:
  struct known_mark {
    former_hold hold;
    std::int64_t leases_when_read = 0;
    bool is_ignored = false;  // written by others, or over and not to be removed
  };
  struct place;
  using place_ptr = std::shared_ptr<place>;

  void begin(const place_ptr& p);
  void list(const place_ptr& p);
  void listed(const place_ptr& p, std::vector<result> lists);
  void read(const place_ptr& p, std::vector<owner_id> guids);
  void have_read(const place_ptr& p, const std::vector<owner_id>& guids, const std::vector<result>& results);
  void stamp(const place_ptr& p, std::vector<owner_id> guids, std::vector<operation> writes);
  void settle(const place_ptr& p);
  void remove(const place_ptr& p, std::vector<owner_id> guids);
  void finish(const place_ptr& p, const result* failed);
  [[nodiscard]] static const result* failure_in(const std::vector<result>& results);
  void submit(const place_ptr& p, std::vector<operation> steps,
              std::function<void(std::vector<result>)> handler);

  store::scheduler& time_;
  ordered_nodes& nodes_;
  std::map<std::string, place_ptr> places_;  // by the queue
};

}  // namespace holdfast::zookeeper
