// SPDX-License-Identifier: Apache-2.0
#include "stores/zookeeper/protocol/inspection.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <utility>

#include "core/summary.hpp"
#include "holdfast/error.hpp"
#include "stores/zookeeper/protocol/note.hpp"
#include "stores/zookeeper/protocol/paths.hpp"

namespace holdfast::zookeeper {

namespace {

/// The number of claims of one name that are read at once.
constexpr std::size_t claims_at_once = 64;
/// The number of nodes of the tree that are read at once.
constexpr std::size_t nodes_at_once = 64;
/// The number of children that are listed at once, but for those of one node: about a megabyte of names.
/// Renewals and beats of the session are answered behind what was asked for before.
constexpr std::int64_t children_at_once = 16'000;
/// How often claims are read until the reads show a single moment.
constexpr int usual_looks = 5;
/// The same if nothing else will do.
constexpr int most_looks = 100;

store::request_error never_at_rest(const std::string& name) {
  return {{errc::unavailable, "claims on '" + name + "' ended during each look at them"}, true, false};
}

}  // namespace

/// Runs a vote. Later reads see everything that any client has been told until now.
void inspection::catch_up(const on_failed& failed, std::function<void()> then) {
  nodes_.submit({.kind = operation_kind::agree, .path = "/"},
                [failed, then = std::move(then)](const result& r) {
                  if (!is_agreed(r)) return failed(request_error_of(r));
                  then();
                });
}

/// Runs any number of steps, a bounded number at once.
void inspection::read_in_parts(const std::shared_ptr<std::vector<operation>>& steps,
                               std::vector<result> so_far, wire_nodes::on_results handler) {
  if (so_far.size() == steps->size()) return handler(std::move(so_far));
  const auto from = steps->begin() + static_cast<std::ptrdiff_t>(so_far.size());
  const auto size =
      std::min<std::ptrdiff_t>(steps->end() - from, static_cast<std::ptrdiff_t>(claims_at_once));
  nodes_.submit_all({from, from + size},
                    [this, steps, all = std::make_shared<std::vector<result>>(std::move(so_far)),
                     handler = std::move(handler)](std::vector<result> results) {
                      std::move(results.begin(), results.end(), std::back_inserter(*all));
                      read_in_parts(steps, std::move(*all), handler);
                    });
}

/// Reads a name: its claims, by the names of its children, and the nodes of its holders and of the first
/// waiters.
void inspection::look_at(const look& at) {
  nodes_.submit_all(reads_of(path_of(root_, at.name)),
                    [this, at](const std::vector<result>& reads) { decide(at, reads); });
}

/// \param reads the results of `reads_of`.
void inspection::decide(const look& at, const std::vector<result>& reads) {
  const auto failed = std::find_if(reads.begin(), reads.end(), is_error);
  if (failed != reads.end()) return at.failed(request_error_of(*failed));
  const auto all = std::make_shared<survey>(survey_of(style_, path_of(root_, at.name), reads));
  if (all->holders.empty() && all->waiters.empty()) return at.seen(std::move(*all));
  const bool had_holders = !all->holders.empty();
  const auto steps = std::make_shared<std::vector<operation>>(claim_reads_of(*all, at.waiters_read));
  read_in_parts(steps, {}, [this, at, all, had_holders](const std::vector<result>& of_claims) {
    const auto error = std::find_if(of_claims.begin(), of_claims.end(), is_error);
    if (error != of_claims.end()) return at.failed(request_error_of(*error));
    fill(*all, at.waiters_read, of_claims);
    decided(at, had_holders, std::move(*all));
  });
}

void inspection::decided(const look& at, bool had_holders, survey seen) {
  // The holders have gone between the two reads. Reads again, because the next waiter holds by now. Permits
  // that went may have been followed by others, which were not listed yet.
  const bool is_stale = seen.is_torn || (had_holders && seen.holders.empty());
  // If the numbers do not tell who holds, a waiter could be taken for the holder.
  const bool is_useless = seen.is_torn && seen.has_open_order;
  if (is_stale && at.tries < (is_useless ? most_looks : usual_looks)) {
    look again = at;
    ++again.tries;
    return look_at(again);
  }
  if (is_useless) return at.failed(never_at_rest(at.name));
  at.seen(std::move(seen));
}

void inspection::inspect(const tickets::inspect& request, const on_reply& handler) {
  catch_up(handler, [this, name = request.name, most = request.waiters_read, handler] {
    look_at({name, most, handler,
             [this, name, handler](const survey& seen) { handler(tickets::reply{state_in(seen, name)}); }});
  });
}

/// Nothing if the name was never used with this library.
std::optional<lock_state> inspection::state_in(const survey& seen, const std::string& name) const {
  if (seen.holders.empty() && seen.waiters.empty() && !seen.ours) return std::nullopt;
  return state_of(seen, name, timeout_());  // the timeouts of other sessions are not known
}

void inspection::find_holds(const std::string& name, fencing_token first, fencing_token last,
                            const on_failed& failed, std::function<void(std::vector<claimed>)> handler) {
  catch_up(failed, [this, name, first, last, failed, handler = std::move(handler)] {
    look_at({name, 0, failed, [first, last, handler](survey seen) {
               std::erase_if(seen.holders, [&](const claimed& c) {
                 const fencing_token token = token_of(c);
                 return token < first || token > last;
               });
               handler(std::move(seen.holders));
             }});
  });
}

// ---- all names

/// The state of a listing.
struct inspection::walk {
  struct node {
    std::string path;
    std::optional<result> read;  // if it was read, its children are listed next
  };
  bool idle = false;
  on_reply handler;
  std::deque<node> next;
  std::size_t open = 0;            // steps under way
  std::int64_t children_open = 0;  // in the lists that are under way
  std::vector<lock_summary> lines;
  std::optional<store::request_error> failed;
};

void inspection::list(const tickets::list& request, const on_reply& handler) {
  const auto all = std::make_shared<walk>();
  all->idle = request.idle;
  all->handler = handler;
  all->next.push_back({top_of(root_), std::nullopt});
  catch_up(handler, [this, all] { go_on(all); });
}

/// A node tells how many children it has before they are listed: the lists that are under way together are
/// not longer than they may be.
void inspection::go_on(const std::shared_ptr<walk>& all) {
  while (!all->failed && !all->next.empty() && all->open < nodes_at_once) {
    const auto& read = all->next.front().read;
    const std::int64_t size = read ? read->about.child_count : 0;
    if (all->children_open != 0 && all->children_open + size > children_at_once) break;
    const walk::node node = std::move(all->next.front());
    all->next.pop_front();
    ++all->open;
    all->children_open += size;
    const auto kind = node.read ? operation_kind::list : operation_kind::get;
    nodes_.submit({.kind = kind, .path = node.path}, [this, all, size, node](result r) {
      all->children_open -= size;
      if (is_error(r) && r.code != answer::refused) all->failed = request_error_of(r);
      if (r.code == answer::done) {
        if (node.read)
          visited(all, *node.read, std::move(r));
        else
          all->next.push_front({node.path, std::move(r)});
      }
      --all->open;
      go_on(all);
    });
  }
  if (all->open != 0) return;
  if (all->failed) return all->handler(*all->failed);
  std::sort(all->lines.begin(), all->lines.end(),
            [](const lock_summary& one, const lock_summary& two) { return one.name < two.name; });
  all->handler(tickets::reply{std::move(all->lines)});
}

void inspection::visited(const std::shared_ptr<walk>& all, const result& node, result list) {
  const auto& children = list.children;
  const bool claims = std::any_of(children.begin(), children.end(), looks_like_contender);
  const bool permits = std::find(children.begin(), children.end(), "leases") != children.end();
  const auto name = name_of(root_, node.path);
  for (const std::string& child : children) {
    const std::string below = (node.path == "/" ? "" : node.path) + '/' + child;
    if (looks_like_contender(child) || below == "/zookeeper") continue;
    if ((child == "locks" || child == "leases") && permits && name) continue;
    all->next.push_back({below, std::nullopt});
  }
  if (name && (claims || permits || (all->idle && read_note(node.data))))
    describe(all, *name, node, std::move(list), permits);
}

/// \param node, list the results of the first two of `reads_of`.
/// \param has_parts whether there may be something to read by the others.
void inspection::describe(const std::shared_ptr<walk>& all, const std::string& name, const result& node,
                          result list, bool has_parts) {
  ++all->open;
  const auto failed = [this, all](const store::request_error& reason) {
    --all->open;
    all->failed = reason;
    go_on(all);
  };
  const auto seen = [this, all, name](const survey& each) {
    --all->open;
    if (const auto state = state_in(each, name)) {
      lock_summary line = store::summary_of(*state);
      line.waiters = each.waiters.size();  // whether or not they have been read
      if (all->idle || line.holders + line.waiters > 0) all->lines.push_back(std::move(line));
    }
    go_on(all);
  };
  look at{name, 1, failed, seen};  // if nobody holds, the line shows the token of the first waiter
  std::vector<result> reads{node};
  reads.push_back(std::move(list));
  std::vector<operation> others = reads_of(path_of(root_, name));
  if (!has_parts) {
    reads.resize(others.size());
    return decide(at, reads);
  }
  others.erase(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(reads.size()));
  nodes_.submit_all(std::move(others), [this, at = std::move(at), reads = std::move(reads)](
                                           const std::vector<result>& results) mutable {
    reads.insert(reads.end(), results.begin(), results.end());
    decide(at, reads);
  });
}

}  // namespace holdfast::zookeeper
