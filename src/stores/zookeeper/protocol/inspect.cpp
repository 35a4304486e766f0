// What people are shown, and what an operator ends.

#include <algorithm>
#include <chrono>
#include <deque>
#include <iterator>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/metadata.hpp"
#include "stores/zookeeper/protocol/claims.hpp"
#include "stores/zookeeper/protocol/note.hpp"
#include "stores/zookeeper/protocol/paths.hpp"
#include "stores/zookeeper/protocol/session.hpp"

namespace holdfast::zookeeper {

using kind = operation_kind;

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

/// By what it says, or, where others have written into it (as Curator's Revoker does), by its name.
bool is_ours(const claimed& c) {
  return read_note(c.data).has_value() || (c.place.guid && is_marked_as_ours(*c.place.guid));
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
  std::size_t waiters_read = 0;  // so many of them, the first; the others have a place and no more
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
  s.mode = mode_of(c.place.wants);
  s.permits = s.mode == mode::permits ? static_cast<std::int64_t>(c.nodes.size()) : 0;
  s.token = token_of(c);
  s.age = age_of(c.about);
  s.expires_in = n ? std::min(n->ttl, most) : most;
  s.claimant = from_metadata(n ? n->metadata : c.data);
  return s;
}

}  // namespace

/// A `sync` would not do: the leader answers those of its own clients at once (CommitProcessor), and may
/// carry out later than its followers what these have told theirs.
void session::catch_up(const on_reply& done, std::function<void()> then) {
  ask({{.kind = kind::agree, .path = "/"}},
      [done, then = std::move(then)](const std::vector<result>& results) {
        if (!is_agreed(results[0])) return done(trouble_of(results[0]));
        then();
      });
}

/// Reads a name: who claims it by its children's names, and what the nodes of its holders and of so many
/// waiters say.
void session::look_at(const std::string& name, std::size_t waiters_read, int tries,
                      std::function<void(std::variant<survey, store::trouble>)> done) {
  const std::string base = path_of(settings_.root, name);
  ask({{.kind = kind::get, .path = base},
       {.kind = kind::list, .path = base},
       {.kind = kind::list, .path = base + "/leases"},
       {.kind = kind::list, .path = base + "/locks"},
       {.kind = kind::get, .path = base + "/leases"}},
      [this, name, base, waiters_read, tries, done = std::move(done)](const std::vector<result>& lists) {
        survey all;
        for (const result& r : lists) {
          if (is_trouble(r)) return done(trouble_of(r));
        }
        all.exists = lists[0].code == answer::done;
        all.ours = read_note(lists[0].data) || read_note(lists[4].data);
        all.last_child = std::max(lists[0].about.last_child, lists[4].about.last_child);
        // The name's own queue, or, of a semaphore, its leases and then the queue for them.
        std::vector<claimed> queue;
        std::vector<claimed> leases;
        const layout other = settings_.layout == layout::curator ? layout::kazoo : layout::curator;
        const auto take = [&](const result& list, const std::string& below, std::vector<claimed>& to) {
          for (const std::string& each : list.children) {
            auto who = parse(settings_.layout, each);
            if (!who) who = parse(other, each);  // shown, though nobody of this layout counts it
            if (who) to.push_back({std::move(*who), {std::string{below}.append("/").append(each)}, {}, {}});
          }
          std::sort(to.begin(), to.end(), [](const claimed& one, const claimed& two) {
            return is_before(one.place.number, two.place.number);
          });
        };
        take(lists[1], base, queue);
        take(lists[2], base + "/leases", leases);
        take(lists[3], base + "/locks", queue);
        if (leases.empty()) {
          const auto first = queue.begin() + static_cast<std::ptrdiff_t>(holders_among(queue));
          std::move(queue.begin(), first, std::back_inserter(all.holders));
          std::move(first, queue.end(), std::back_inserter(all.waiters));
        } else {
          if (const auto n = read_note(lists[4].data)) all.capacity = n->capacity;
          // Who still queues for permits has none yet, though its leases may be there.
          std::unordered_set<owner_id> queues;
          for (claimed& c : queue) {
            if (c.place.guid) queues.insert(*c.place.guid);
            c.place.wants = role::lease;
          }
          all.waiters = std::move(queue);
          std::unordered_map<owner_id, std::size_t> holders;
          for (claimed& lease : leases) {
            if (lease.place.guid && queues.contains(*lease.place.guid)) continue;
            if (lease.place.guid) {
              const auto [at, is_new] = holders.try_emplace(*lease.place.guid, all.holders.size());
              if (!is_new) {
                all.holders[at->second].nodes.push_back(std::move(lease.nodes.front()));
                continue;
              }
            }
            all.holders.push_back(std::move(lease));
          }
        }
        if (all.holders.empty() && all.waiters.empty()) return done(std::move(all));
        const bool had_holders = !all.holders.empty();
        read_claims(
            std::move(all), waiters_read,
            [this, name, waiters_read, tries, had_holders, done](std::variant<survey, store::trouble> seen) {
              const auto* const s = std::get_if<survey>(&seen);
              // They have gone in between: whoever came next holds, and not nobody.
              const bool stale = s != nullptr && had_holders && s->holders.empty();
              if (stale && tries < most_tries) return look_at(name, waiters_read, tries + 1, done);
              done(std::move(seen));
            });
      });
}

/// What the nodes say. Those that are gone by then are left out.
void session::read_claims(survey all, std::size_t waiters_read,
                          std::function<void(std::variant<survey, store::trouble>)> done) {
  const auto gets = std::make_shared<std::vector<operation>>();
  for (const claimed& c : all.holders) {
    for (const std::string& path : c.nodes) gets->push_back({.kind = kind::get, .path = path});
  }
  const std::size_t read = std::min(waiters_read, all.waiters.size());
  for (std::size_t i = 0; i < read; ++i) {
    gets->push_back({.kind = kind::get, .path = all.waiters[i].nodes.front()});
  }
  const auto found = std::make_shared<survey>(std::move(all));
  ask_in_parts(gets, {}, [found, read, done = std::move(done)](const std::vector<result>& got) {
    for (const result& r : got) {
      if (is_trouble(r)) return done(trouble_of(r));
    }
    std::size_t next = 0;
    const auto fill = [&](claimed& c) {
      std::vector<std::string> there;
      for (std::string& path : c.nodes) {
        const result& r = got[next++];
        if (r.code != answer::done) continue;
        const std::int64_t created = std::max(c.about.created, r.about.created);
        if (there.empty()) c.data = r.data;
        if (there.empty()) c.about = r.about;
        c.about.created = created;
        there.push_back(std::move(path));
      }
      c.nodes = std::move(there);
      return c.nodes.empty();
    };
    std::erase_if(found->holders, fill);
    const auto end_of_read = found->waiters.begin() + static_cast<std::ptrdiff_t>(read);
    const auto end_of_kept = std::remove_if(found->waiters.begin(), end_of_read, fill);
    found->waiters_read = static_cast<std::size_t>(end_of_kept - found->waiters.begin());
    found->waiters.erase(end_of_kept, end_of_read);
    done(std::move(*found));
  });
}

void session::inspect(const tickets::request& what, const on_reply& done) {
  catch_up(done, [this, name = what.name, most = what.waiters_read, done] {
    describe(name, most, [done](std::variant<std::optional<lock_state>, store::trouble> seen, std::size_t) {
      if (const auto* failed = std::get_if<store::trouble>(&seen)) return done(*failed);
      done(tickets::reply{std::get<std::optional<lock_state>>(std::move(seen))});
    });
  });
}

/// \param done hears how many wait as well, read or not.
void session::describe(const std::string& name, std::size_t waiters_read,
                       const std::function<void(std::variant<std::optional<lock_state>, store::trouble>,
                                                std::size_t waiters)>& done) {
  look_at(name, waiters_read, 0, [this, name, done](std::variant<survey, store::trouble> seen) {
    if (const auto* failed = std::get_if<store::trouble>(&seen)) return done(*failed, 0);
    const survey& all = std::get<survey>(seen);
    if (all.holders.empty() && all.waiters.empty() && !all.ours) {
      return done(std::optional<lock_state>{}, 0);
    }
    const duration most = liveness_.timeout();  // whatever the others' sessions are
    lock_state s;
    s.name = name;
    s.capacity = all.capacity;
    for (const claimed& c : all.holders) s.holders.push_back(state_of(c, most));
    for (std::size_t i = 0; i < all.waiters_read; ++i) {
      s.waiters.push_back(state_of(all.waiters[i], most));
      if (s.waiters.back().mode != mode::permits) continue;
      const auto n = read_note(all.waiters[i].data);
      s.waiters.back().permits = n ? n->permits : 1;
    }
    for (const auto* list : {&s.holders, &s.waiters}) {
      for (const claim_state& c : *list) s.last_token = std::max(s.last_token, c.token);
    }
    // Of a name that nobody claims only the last coming or going is known, which is later than any token.
    if (!s.last_token) s.last_token = fencing_token{static_cast<std::uint64_t>(all.last_child)};
    done(std::optional{std::move(s)}, all.waiters.size());
  });
}

void session::evict(const tickets::request& what, const on_reply& done) {
  catch_up(done, [this, what, done] { end_holds(what, done); });
}

void session::end_holds(const tickets::request& which, const on_reply& done) {
  look_at(which.name, 0, 0,
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
                removals.push_back({.kind = kind::remove, .path = path});
              if (!is_ours(c)) {
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

/// Names, and nodes of the tree, that are read at once.
constexpr std::size_t read_at_once = 64;

bool is_part_of_lock(const std::string& child) { return looks_like_contender(child); }

lock_summary summary_of(lock_state s, std::size_t waiters) {
  lock_summary line;
  line.name = std::move(s.name);
  line.capacity = s.capacity;
  line.holders = s.holders.size();
  line.waiters = waiters;
  line.last_token = s.last_token;
  if (!s.holders.empty()) {
    claim_state& oldest = s.holders.front();
    line.mode = oldest.mode;
    line.held_for = oldest.age;
    line.holder_token = oldest.token;
    line.holder = std::move(oldest.claimant);
  } else if (line.capacity != 0) {
    line.mode = mode::permits;
  } else if (!s.waiters.empty()) {
    line.mode = s.waiters.front().mode;
  }
  return line;
}

}  // namespace

/// Over the tree: what is still to be listed, and the names found so far; then over those.
struct session::walk {
  bool idle = false;
  on_reply done;
  std::deque<std::string> paths;
  std::vector<std::string> names;
  std::size_t described = 0;
  std::size_t open = 0;
  std::vector<lock_summary> lines;
  std::optional<store::trouble> failed;
};

void session::list(const tickets::request& what, const on_reply& done) {
  const auto all = std::make_shared<walk>();
  all->idle = what.idle;
  all->done = done;
  all->paths.push_back(settings_.top());
  catch_up(done, [this, all] { visit_next(all); });
}

void session::visit_next(const std::shared_ptr<walk>& all) {
  while (all->open < read_at_once && !all->paths.empty() && !all->failed) {
    const std::string path = std::move(all->paths.front());
    all->paths.pop_front();
    ++all->open;
    ask({{.kind = kind::list, .path = path}, {.kind = kind::get, .path = path}},
        [this, all, path](const std::vector<result>& results) {
          --all->open;
          const result& r = results[0];
          if (r.code == answer::done) {
            visited(*all, path, r.children, read_note(results[1].data).has_value());
          } else if (r.code != answer::no_node && r.code != answer::refused) {
            all->failed = trouble_of(r);
          }
          visit_next(all);
        });
  }
  if (all->open == 0) describe_next(all);
}

void session::visited(walk& all, const std::string& path, const std::vector<std::string>& children,
                      bool is_ours) const {
  const bool claims = std::any_of(children.begin(), children.end(), is_part_of_lock);
  const bool permits = std::find(children.begin(), children.end(), "leases") != children.end();
  const auto name = name_of(settings_.root, path);
  if (name && (claims || permits || (all.idle && is_ours))) all.names.push_back(*name);
  for (const std::string& child : children) {
    const std::string below = (path == "/" ? "" : path) + '/' + child;
    if (is_part_of_lock(child) || below == "/zookeeper") continue;
    if ((child == "locks" || child == "leases") && permits && name) continue;
    all.paths.push_back(below);
  }
}

void session::describe_next(const std::shared_ptr<walk>& all) {
  while (all->open < read_at_once && all->described < all->names.size() && !all->failed) {
    ++all->open;
    // One of those who wait tells how, where nobody holds.
    describe(all->names[all->described++], 1,
             [this, all](std::variant<std::optional<lock_state>, store::trouble> seen, std::size_t waiters) {
               --all->open;
               if (const auto* failed = std::get_if<store::trouble>(&seen)) {
                 all->failed = *failed;
               } else if (auto& s = std::get<std::optional<lock_state>>(seen)) {
                 lock_summary line = summary_of(std::move(*s), waiters);
                 if (all->idle || line.holders + line.waiters > 0) all->lines.push_back(std::move(line));
               }
               describe_next(all);
             });
  }
  if (all->open != 0) return;
  if (all->failed) return all->done(*all->failed);
  std::sort(all->lines.begin(), all->lines.end(),
            [](const lock_summary& one, const lock_summary& two) { return one.name < two.name; });
  all->done(tickets::reply{std::move(all->lines)});
}

// ---- watching

void session::watch(std::function<void()> changed) {
  changed_ = std::move(changed);
  if (changed_) {
    if (connected_) watch_below(settings_.top());
    return;
  }
  time_.cancel(std::exchange(next_look_below_, 0));
  for (const std::string& path : std::exchange(watched_below_, {})) {
    if (!awaited_.contains(path)) end_watch(path, true);
  }
}

/// Of what there is no room to watch: whoever wants to hear of changes looks from time to time.
void session::look_below_later() {
  if (next_look_below_ != 0) return;
  next_look_below_ = time_.at(time_.now() + std::chrono::seconds{1}, [this] {
    next_look_below_ = 0;
    if (!changed_) return;
    look_below_later();
    changed_();
  });
}

/// The servers tell of one node's children at a time, so each that may have some is watched. Whoever looks
/// when `changed_` is called sees all that happened before the watch was there.
void session::watch_below(const std::string& path) {
  if (!changed_) return;
  if (!watches_.has_room(path, watch_table::kind::children)) return look_below_later();
  if (!watched_below_.insert(path).second) return;
  ask({{.kind = kind::list, .path = path, .watch = true}}, [this, path](const std::vector<result>& results) {
    const result& r = results[0];
    if (r.code != answer::done) {
      watched_below_.erase(path);
      if (r.code != answer::no_node || path != settings_.root) return;
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
