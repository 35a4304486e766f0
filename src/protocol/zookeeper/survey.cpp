// What people are shown, and what an operator ends.

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/metadata.hpp"
#include "protocol/zookeeper/claims.hpp"
#include "protocol/zookeeper/note.hpp"
#include "protocol/zookeeper/paths.hpp"
#include "protocol/zookeeper/session.hpp"

namespace holdfast::zookeeper {

using kind = operation::kind;

namespace {

/// One claim on a name, ours or a foreign one: one node, or those of its permits.
struct claimed {
  contender place;
  std::vector<std::string> nodes;
  status about;
  std::string data;
};

/// The holders among those who queue: the first, and where that is a reader, all readers before the first
/// writer. As every recipe decides it.
std::size_t holders_among(const std::vector<claimed>& queue) {
  if (queue.empty() || queue.front().place.excludes()) return std::min<std::size_t>(queue.size(), 1);
  const auto writer =
      std::find_if(queue.begin(), queue.end(), [](const claimed& c) { return c.place.excludes(); });
  return static_cast<std::size_t>(writer - queue.begin());
}

mode mode_of(role wants) {
  switch (wants) {
    case role::reader: return mode::shared;
    case role::lease: return mode::permits;
    default: return mode::exclusive;
  }
}

/// By our own clock, which is good enough for the eye.
duration age_of(const status& s) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::max<duration>(
      duration::zero(), std::chrono::duration_cast<duration>(now - std::chrono::milliseconds{s.created_ms}));
}

}  // namespace

struct session::survey {
  bool exists = false;
  std::int64_t last_child = 0;
  bool ours = false;  // somebody used it with this library
  std::vector<claimed> holders;
  std::vector<claimed> waiters;
  std::int64_t capacity = 0;
};

namespace {

fencing_token token_of(const claimed& c) {
  const auto n = read_note(c.data);
  return n && n->token ? n->token : token_of(c.about);
}

claim_state state_of(const claimed& c, duration most) {
  const auto n = read_note(c.data);
  claim_state s;
  s.owner = c.place.guid ? c.place.guid->hex() : c.place.node;
  s.how = mode_of(c.place.wants);
  s.permits = s.how == mode::permits ? static_cast<std::int64_t>(c.nodes.size()) : 0;
  s.token = token_of(c);
  s.age = age_of(c.about);
  s.expires_in = n ? std::min(n->ttl, most) : most;
  s.who = from_metadata(n ? n->metadata : c.data);
  return s;
}

}  // namespace

/// A `sync` would not do: the leader answers those of its own clients at once (CommitProcessor), and may
/// carry out later than its followers what these have told theirs.
void session::catch_up(const on_reply& done, std::function<void()> then) {
  ask({{.what = kind::agree, .path = "/"}},
      [done, then = std::move(then)](const std::vector<result>& results) {
        // Whoever may not read there is refused by a vote, too.
        if (is_trouble(results[0]) && results[0].how != answer::refused) return done(trouble_of(results[0]));
        then();
      });
}

/// Reads all nodes of a name.
void session::look_at(const std::string& name,
                      std::function<void(std::variant<survey, store::trouble>)> done) {
  const std::string base = path_of(settings_.root, name);
  ask({{.what = kind::get, .path = base},
       {.what = kind::list, .path = base},
       {.what = kind::list, .path = base + "/leases"},
       {.what = kind::list, .path = base + "/locks"},
       {.what = kind::get, .path = base + "/leases"}},
      [this, base, done = std::move(done)](const std::vector<result>& lists) {
        survey all;
        for (const result& r : lists) {
          if (is_trouble(r)) return done(trouble_of(r));
        }
        all.exists = lists[0].how == answer::done;
        all.ours = read_note(lists[0].data) || read_note(lists[4].data);
        all.last_child = std::max(lists[0].about.last_child, lists[4].about.last_child);
        if (const auto n = read_note(lists[4].data)) all.capacity = n->capacity;
        // The name's own queue, or, of a semaphore, its leases and then the queue for them.
        struct found {
          std::string path;
          contender who;
          bool lease;
        };
        auto nodes = std::make_shared<std::vector<found>>();
        const layout other = settings_.how == layout::curator ? layout::kazoo : layout::curator;
        const auto take = [&](const result& list, const std::string& below, bool lease) {
          for (const std::string& each : list.children) {
            auto who = parse(settings_.how, each);
            if (!who) who = parse(other, each);  // shown, though nobody of this layout counts it
            if (who) nodes->push_back({std::string{below}.append("/").append(each), std::move(*who), lease});
          }
        };
        take(lists[1], base, false);
        take(lists[2], base + "/leases", true);
        take(lists[3], base + "/locks", false);
        if (nodes->empty()) return done(all);
        std::vector<operation> gets;
        for (const found& each : *nodes) gets.push_back({.what = kind::get, .path = each.path});
        ask(std::move(gets), [nodes, all, done](const std::vector<result>& got) mutable {
          std::vector<claimed> queue;
          std::vector<claimed> leases;
          for (std::size_t i = 0; i < got.size(); ++i) {
            const found& f = nodes->at(i);
            if (got[i].how == answer::no_node) continue;  // gone since
            if (got[i].how != answer::done) return done(trouble_of(got[i]));
            const auto same = std::find_if(leases.begin(), leases.end(), [&](const claimed& c) {
              return f.lease && c.place.guid && c.place.guid == f.who.guid;
            });
            if (same != leases.end()) {
              same->nodes.push_back(f.path);
              same->about.created = std::max(same->about.created, got[i].about.created);
            } else {
              (f.lease ? leases : queue).push_back({f.who, {f.path}, got[i].about, got[i].data});
            }
          }
          const auto earlier = [](const claimed& one, const claimed& two) {
            return is_before(one.place.number, two.place.number);
          };
          std::sort(queue.begin(), queue.end(), earlier);
          std::sort(leases.begin(), leases.end(), earlier);
          // Who still queues for permits has none yet, though its leases may be there.
          for (claimed& lease : leases) {
            const bool queues = std::any_of(queue.begin(), queue.end(), [&](const claimed& c) {
              return c.place.guid && c.place.guid == lease.place.guid;
            });
            if (!queues) all.holders.push_back(std::move(lease));
          }
          const std::size_t first = leases.empty() ? holders_among(queue) : 0;
          for (std::size_t i = 0; i < queue.size(); ++i) {
            if (!leases.empty()) queue[i].place.wants = role::lease;
            (i < first ? all.holders : all.waiters).push_back(std::move(queue[i]));
          }
          if (leases.empty()) all.capacity = 0;
          done(std::move(all));
        });
      });
}

void session::inspect(const tickets::request& what, const on_reply& done) {
  catch_up(done, [this, name = what.name, done] { describe(name, done); });
}

void session::describe(const std::string& name, const on_reply& done) {
  look_at(name, [this, name, done](std::variant<survey, store::trouble> seen) {
    if (const auto* failed = std::get_if<store::trouble>(&seen)) return done(*failed);
    const survey& all = std::get<survey>(seen);
    if (all.holders.empty() && all.waiters.empty() && !all.ours) {
      return done(tickets::reply{std::optional<lock_state>{}});
    }
    const duration most = timeout_;  // whatever the others' sessions are
    lock_state s;
    s.name = name;
    s.capacity = all.capacity;
    for (const claimed& c : all.holders) s.holders.push_back(state_of(c, most));
    for (const claimed& c : all.waiters) {
      s.waiters.push_back(state_of(c, most));
      if (s.waiters.back().how != mode::permits) continue;
      const auto n = read_note(c.data);
      s.waiters.back().permits = n ? n->permits : 1;
    }
    for (const auto* list : {&s.holders, &s.waiters}) {
      for (const claim_state& c : *list) s.last_token = std::max(s.last_token, c.token);
    }
    // Of a name that nobody claims only the last coming or going is known, which is later than any token.
    if (!s.last_token) s.last_token = fencing_token{static_cast<std::uint64_t>(all.last_child)};
    done(tickets::reply{std::optional{std::move(s)}});
  });
}

void session::evict(const tickets::request& what, const on_reply& done) {
  catch_up(done, [this, what, done] { end_holds(what, done); });
}

void session::end_holds(const tickets::request& which, const on_reply& done) {
  look_at(which.name,
          [this, first = which.token, last = which.last, done](std::variant<survey, store::trouble> seen) {
            if (const auto* failed = std::get_if<store::trouble>(&seen)) return done(*failed);
            const survey& all = std::get<survey>(seen);
            std::vector<operation> removals;
            std::size_t count = 0;
            for (const claimed& c : all.holders) {
              const fencing_token token = token_of(c);
              if (token < first || token > last) continue;
              ++count;
              for (const std::string& path : c.nodes)
                removals.push_back({.what = kind::remove, .path = path});
              if (!read_note(c.data)) {
                return done(store::trouble{
                    {errc::wrong_type, "it is held by a client of another library (" + c.nodes.front() +
                                           "), whose nodes are not ours to remove"},
                    false,
                    false});
              }
            }
            if (removals.empty()) return done(tickets::reply{tickets::count{0}});
            ask(std::move(removals), [done, count](const std::vector<result>& results) {
              for (const result& r : results) {
                if (is_trouble(r)) return done(trouble_of(r));
              }
              done(tickets::reply{tickets::count{count}});
            });
          });
}

// ---- all names

namespace {

/// A walk over the tree: what is still to be listed, and the names found so far.
struct walk {
  std::size_t open = 0;
  std::vector<std::string> names;
  std::vector<lock_summary> lines;
  std::optional<store::trouble> failed;
};

bool is_part_of_lock(const std::string& child) { return looks_like_contender(child); }

}  // namespace

void session::list(const tickets::request& what, const on_reply& done) {
  const auto all = std::make_shared<walk>();
  const bool idle = what.idle;
  const auto finish = [all, done] {
    if (all->failed) return done(*all->failed);
    std::sort(all->lines.begin(), all->lines.end(),
              [](const lock_summary& one, const lock_summary& two) { return one.name < two.name; });
    done(tickets::reply{std::move(all->lines)});
  };
  // Second, each name by itself.
  const auto describe_all = [this, all, idle, finish] {
    if (all->failed || all->names.empty()) return finish();
    all->open = all->names.size();
    for (const std::string& name : all->names) {
      describe(name, [all, idle, finish](const tickets::link::outcome& o) {
        if (const auto* failed = std::get_if<store::trouble>(&o)) {
          all->failed = *failed;
        } else if (const auto& s = std::get<std::optional<lock_state>>(std::get<tickets::reply>(o))) {
          lock_summary line;
          line.name = s->name;
          line.capacity = s->capacity;
          line.holders = s->holders.size();
          line.waiters = s->waiters.size();
          line.last_token = s->last_token;
          if (!s->holders.empty()) {
            const claim_state& oldest = s->holders.front();
            line.how = oldest.how;
            line.held_for = oldest.age;
            line.holder_token = oldest.token;
            line.holder = oldest.who;
          } else if (line.capacity != 0) {
            line.how = mode::permits;
          } else if (!s->waiters.empty()) {
            line.how = s->waiters.front().how;
          }
          if (idle || line.holders + line.waiters > 0) all->lines.push_back(std::move(line));
        }
        if (--all->open == 0) finish();
      });
    }
  };
  // First, the tree.
  const auto visit = std::make_shared<std::function<void(const std::string&)>>();
  *visit = [this, all, idle, describe_all, weak = std::weak_ptr{visit}](const std::string& path) {
    ++all->open;
    ask({{.what = kind::list, .path = path}, {.what = kind::get, .path = path}},
        [this, all, idle, describe_all, path, self = weak.lock()](const std::vector<result>& results) {
          const result& r = results[0];
          if (r.how == answer::done) {
            const bool claims = std::any_of(r.children.begin(), r.children.end(), is_part_of_lock);
            const bool permits = std::any_of(r.children.begin(), r.children.end(),
                                             [](const std::string& each) { return each == "leases"; });
            const auto name = name_of(settings_.root, path);
            const bool empty = idle && read_note(results[1].data).has_value();
            if (name && (claims || permits || empty)) all->names.push_back(*name);
            for (const std::string& child : r.children) {
              const std::string below = (path == "/" ? "" : path) + '/' + child;
              if (is_part_of_lock(child) || below == "/zookeeper") continue;
              if ((child == "locks" || child == "leases") && permits && name) continue;
              (*self)(below);
            }
          } else if (r.how != answer::no_node && r.how != answer::refused) {
            all->failed = trouble_of(r);
          }
          if (--all->open == 0) describe_all();
        });
  };
  catch_up(done, [this, visit] { (*visit)(top()); });
}

// ---- watching

void session::watch(std::function<void()> changed) {
  changed_ = std::move(changed);
  if (changed_) {
    if (connected_) watch_below(top());
    return;
  }
  for (const std::string& path : std::exchange(watched_below_, {})) {
    if (awaited_.contains(path)) continue;
    wire_.submit({.what = kind::unwatch, .path = path, .children = true}, [](const result&) {});
  }
}

/// The servers tell of one node's children at a time, so each that may have some is watched. Whoever looks
/// when `changed_` is called sees all that happened before the watch was there.
void session::watch_below(const std::string& path) {
  if (!changed_ || !watched_below_.insert(path).second) return;
  ask({{.what = kind::list, .path = path, .watch = true}}, [this, path](const std::vector<result>& results) {
    const result& r = results[0];
    if (r.how != answer::done) {
      watched_below_.erase(path);
      if (r.how != answer::no_node || path != settings_.root) return;
      // Nobody has locked anything yet. What is not there cannot be watched.
      make_parents(path, [this, path](const std::optional<store::trouble>& failed) {
        if (!failed) watch_below(path);
      });
      return;
    }
    for (const std::string& child : r.children) {
      const std::string below = (path == "/" ? "" : path) + '/' + child;
      if (!is_part_of_lock(child) && below != "/zookeeper") watch_below(below);
    }
    if (changed_) changed_();
  });
}

}  // namespace holdfast::zookeeper
