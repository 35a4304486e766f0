// How a claim holds: renewal, and the downgrade.

#include <iterator>
#include <utility>

#include "stores/zookeeper/protocol/claims.hpp"
#include "stores/zookeeper/protocol/session.hpp"

namespace holdfast::zookeeper {

using kind = operation_kind;

/// What is renewed is the knowledge that it still holds: its nodes are watched, and one answer of the leader
/// proves that whatever befell them before has been told. Nodes that cannot be watched are looked at
/// after that.
void session::renew(const tickets::request& what, const on_reply& done) {
  struct look {
    ref who;
    std::string path;
  };
  std::vector<operation> steps;
  std::vector<operation> unwatched;
  std::vector<look> looks;  // of each step, the watched ones first
  std::vector<look> looks_of_unwatched;
  watch_load planned;
  for (const store::hold& h : what.batch) {
    const auto found = claims_.find(h.owner);
    if (found == claims_.end() || found->second.now != state::holding || found->second.watched) continue;
    claim& c = found->second;
    if (lowers(c)) continue;  // its writer's node goes by our own hand, and is no sign of an end
    std::vector<std::string> paths = c.leases;
    if (paths.empty()) paths.push_back(c.queue + '/' + c.place->node);
    c.watched = can_watch(paths, planned);
    for (const std::string& path : paths) {
      (c.watched ? steps : unwatched).push_back(nodes_.look_at(path, c.watched));
      (c.watched ? looks : looks_of_unwatched).push_back({ref_of(c), path});
    }
  }
  const std::size_t sync = steps.size();
  steps.push_back({.kind = kind::sync, .path = settings_.top()});
  std::move(unwatched.begin(), unwatched.end(), std::back_inserter(steps));
  looks.push_back({});
  std::move(looks_of_unwatched.begin(), looks_of_unwatched.end(), std::back_inserter(looks));
  nodes_.submit_all(std::move(steps), [this, what, looks, sync, done](const std::vector<result>& results) {
    bool unread = false;
    const result* failed = is_trouble(results[sync]) ? &results[sync] : nullptr;
    for (std::size_t i = 0; i < looks.size(); ++i) {
      const result& r = results[i];
      if (i == sync) continue;
      claim* const c = find(looks[i].who);
      if (r.code == answer::unknown || r.code == answer::not_sent) {
        unsettle_behind(looks[i].path);
        if (failed == nullptr) failed = &r;
      }
      if (c != nullptr && r.code != answer::done) c->watched = false;
      if (c != nullptr && r.code == answer::refused) {
        unread = nodes_.set_unreadable(looks[i].path) || unread;
        unsettle_behind(looks[i].path);
      }
      if (r.code == answer::no_node) {
        if (c != nullptr) revoke(*c);
        node_gone(looks[i].path);  // others may rely on this watch
      }
    }
    if (failed != nullptr) return done(trouble_of(*failed));
    if (unread) return renew(what, done);  // whether they are there may be asked by everybody
    tickets::kept kept;
    for (const store::hold& h : what.batch) {
      const auto found = claims_.find(h.owner);
      kept.each.push_back(found != claims_.end() && found->second.now == state::holding);
    }
    done(tickets::reply{std::move(kept)});
  });
}

/// Curator's way, a reader's node with the writer's own number for the writer's, but in one step: somebody
/// may have ended the hold, and a reader's node of it would then come before those who have seen it gone.
void session::downgrade(const tickets::request& what, const on_reply& done) {
  const auto found = claims_.find(what.owner);
  const auto later = [this, done](tickets::link::outcome o) {
    time_.at(time_.now(), [done, o = std::move(o)] { done(o); });
  };
  if (found == claims_.end() || found->second.now != state::holding)
    return later(tickets::reply{tickets::nothing{}});
  claim& c = found->second;
  if (c.place->wants == role::reader) return later(tickets::reply{tickets::done{}});
  if (c.place->wants == role::mutex) {
    return later(store::trouble{
        {errc::wrong_type, "a mutex has no readers on this store; take it through a shared_mutex"},
        false,
        false});
  }
  const std::string reader = downgraded(settings_.layout, c.place->number, c.guid);
  const std::string former = c.queue + '/' + c.place->node;
  c.lowering = true;
  own(c.queue + '/' + reader, c);
  own_nodes_.erase(former);  // it goes by our own hand
  nodes_.submit_all({{.kind = kind::replace,
                      .path = c.queue + '/' + reader,
                      .data = data_of(c.asked, c.token),
                      .former = former}},
                    [this, who = ref_of(c), done, reader, former](const std::vector<result>& results) {
                      claim* const mine = find(who);
                      if (mine == nullptr) return done(tickets::reply{tickets::nothing{}});
                      const result& r = results[0];
                      if (r.code == answer::unknown || r.code == answer::not_sent) return done(trouble_of(r));
                      // It exists where an earlier try was carried out, whose answer was lost.
                      if (r.code == answer::done || r.code == answer::node_exists) {
                        mine->place = parse(settings_.layout, reader);
                        mine->watched = false;
                        return done(tickets::reply{tickets::done{}});
                      }
                      mine->lowering = false;
                      own_nodes_.erase(mine->queue + '/' + reader);
                      if (r.code == answer::no_node) {  // somebody has ended it
                        forget(*mine);
                        return done(tickets::reply{tickets::nothing{}});
                      }
                      own(former, *mine);
                      mine->watched = false;  // what has been told of it since was not taken in
                      done(trouble_of(r));
                    });
}

}  // namespace holdfast::zookeeper
