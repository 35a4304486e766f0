#include "stores/zookeeper/protocol/name_rests.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "stores/zookeeper/protocol/claim_nodes.hpp"
#include "stores/zookeeper/protocol/mark.hpp"

namespace holdfast::zookeeper {

using kind = operation_kind;

namespace {

/// The number of marks that are read at once.
constexpr std::size_t marks_at_once = 256;

/// In the order of `list`.
enum list_index : std::uint8_t { clock_write, names_read, leases_read, marks_read, gates_read };

/// The guids of marks that claims may have left, with the number of leases that each claim has still.
std::map<owner_id, std::int64_t> marks_among(const std::vector<result>& lists) {
  std::set<owner_id> living;
  add_living(living, lists[names_read].children);
  std::map<owner_id, std::int64_t> leases;
  for (const std::string& each : lists[leases_read].children) {
    std::set<owner_id> guid;
    add_living(guid, {each});
    if (!guid.empty()) ++leases[*guid.begin()];
  }
  std::map<owner_id, std::int64_t> marks;
  for (const owner_id& each : ended_of(lists[marks_read].children, living)) {
    const auto found = leases.find(each);
    marks.emplace(each, found == leases.end() ? 0 : found->second);
  }
  return marks;
}

}  // namespace

/// A name, while claims of this client look at it.
struct name_rests::place {
  std::string base;
  std::string queue;
  std::vector<on_seen> next;    // served by the next look
  std::vector<on_seen> served;  // by the look under way
  bool is_looking = false;
  bool is_due = false;   // the next look
  bool is_left = false;  // the session has ended: answers come too late
  store::scheduler::timer timer = 0;
  store::time_point due;

  // Of the look under way:
  rests_seen seen;
  std::int64_t now_ms = 0;                  // the leader's clock; zero: not known
  std::map<owner_id, std::int64_t> listed;  // the marks, and how many leases their claims have
  bool has_more = false;                    // more than are read at once
  int conflicts = 0;                        // stamps that others have overtaken

  // Of all looks:
  std::map<owner_id, known_mark> known;
};

name_rests::~name_rests() {
  for (const auto& [queue, p] : places_) time_.cancel(p->timer);
}

void name_rests::look(const std::string& base, const std::string& queue, store::time_point when,
                      on_seen handler) {
  place_ptr& p = places_[queue];
  if (!p) {
    p = std::make_shared<place>();
    p->base = base;
    p->queue = queue;
  }
  p->next.push_back(std::move(handler));
  if (p->timer != 0 && when >= p->due) return;
  time_.cancel(std::exchange(p->timer, 0));
  if (when <= time_.now()) return begin(p);
  p->due = when;
  p->timer = time_.at(when, [this, p = p] {
    p->timer = 0;
    begin(p);
  });
}

/// Those who ask during a look wait for the next: a hold may have ended after the lists were read.
void name_rests::begin(const place_ptr& p) {
  p->is_due = p->is_looking;
  if (p->is_looking) return;
  time_.cancel(std::exchange(p->timer, 0));
  p->is_looking = true;
  p->served = std::exchange(p->next, {});
  p->conflicts = 0;
  list(p);
}

void name_rests::submit(const place_ptr& p, std::vector<operation> steps,
                        std::function<void(std::vector<result>)> handler) {
  nodes_.submit_all(std::move(steps), [p, handler = std::move(handler)](std::vector<result> results) {
    if (!p->is_left) handler(std::move(results));
  });
}

const result* name_rests::failure_in(const std::vector<result>& results) {
  const auto failed = std::find_if(results.begin(), results.end(), is_error);
  return failed == results.end() ? nullptr : &*failed;
}

/// The write before the lists tells the leader's clock, and the server that answers has caught up with it.
void name_rests::list(const place_ptr& p) {
  std::vector<operation> steps{{.kind = kind::set, .path = rests_path(p->base)},
                               {.kind = kind::list, .path = p->base},
                               {.kind = kind::list, .path = p->base + "/leases"},
                               {.kind = kind::list, .path = rests_path(p->base)}};
  if (p->queue != p->base) steps.push_back({.kind = kind::list, .path = p->queue});
  submit(p, std::move(steps), [this, p](std::vector<result> lists) { listed(p, std::move(lists)); });
}

void name_rests::listed(const place_ptr& p, std::vector<result> lists) {
  if (const result* const failed = failure_in(lists)) return finish(p, failed);
  p->now_ms = lists[clock_write].about.changed_ms;
  p->listed = marks_among(lists);
  p->seen.contenders = std::move(lists[p->queue == p->base ? names_read : gates_read].children);
  p->seen.leases = std::move(lists[leases_read].children);
  std::erase_if(p->known, [&](const auto& each) { return !p->listed.contains(each.first); });
  std::vector<owner_id> unread;
  for (const auto& [guid, leases] : p->listed) {
    const auto found = p->known.find(guid);
    if (found != p->known.end()) found->second.hold.leases = leases;
    // The rest of a claim that has fewer leases than when its mark was read may have begun since.
    const bool may_be_newer =
        found != p->known.end() && !found->second.is_ignored && leases != found->second.leases_when_read;
    if (found == p->known.end() || may_be_newer) unread.push_back(guid);
  }
  if (unread.empty()) return settle(p);
  read(p, std::move(unread));
}

void name_rests::read(const place_ptr& p, std::vector<owner_id> guids) {
  p->has_more = guids.size() > marks_at_once;
  if (p->has_more) guids.resize(marks_at_once);
  std::vector<operation> steps;
  steps.reserve(guids.size() + 2);
  for (const owner_id& each : guids) steps.push_back({.kind = kind::get, .path = mark_path(p->base, each)});
  // A claim that came after the lists were read may have made its mark before those were: it lives.
  steps.push_back({.kind = kind::list, .path = p->base});
  steps.push_back({.kind = kind::list, .path = p->base + "/leases"});
  submit(p, std::move(steps), [this, p, guids = std::move(guids)](const std::vector<result>& results) {
    if (const result* const failed = failure_in(results)) return finish(p, failed);
    have_read(p, guids, results);
  });
}

/// Stamps the marks that nobody has stamped: their rest begins now. So does a rest that began before the
/// leader's clock was set back: nobody could count it until that clock is there again.
void name_rests::have_read(const place_ptr& p, const std::vector<owner_id>& guids,
                           const std::vector<result>& results) {
  std::set<owner_id> living;
  add_living(living, results[guids.size()].children);
  add_living(living, results[guids.size() + 1].children);
  std::vector<owner_id> unstamped;
  std::vector<operation> stamps;
  for (std::size_t i = 0; i < guids.size(); ++i) {
    const result& r = results[i];
    const owner_id& guid = guids[i];
    const std::int64_t leases = p->listed.at(guid);
    const bool lives = living.contains(guid);
    if (r.code != answer::done || (lives && leases == 0)) continue;
    auto m = read_mark(r.data);
    known_mark& known = p->known[guid] = {};
    known.is_ignored = !m;
    known.leases_when_read = leases;
    if (!m) continue;
    known.hold = {m->mode, m->permits, time_.now() + left_of(*m, r.about, p->now_ms), m->is_stamped || !lives,
                  leases};
    if (lives || (m->is_stamped && !is_of_the_future(r.about, p->now_ms))) continue;
    m->is_stamped = true;
    unstamped.push_back(guid);
    stamps.push_back({.kind = kind::set, .path = r.path, .data = to_text(*m), .version = r.about.version});
  }
  if (stamps.empty()) return p->has_more ? list(p) : settle(p);
  stamp(p, std::move(unstamped), std::move(stamps));
}

void name_rests::stamp(const place_ptr& p, std::vector<owner_id> guids, std::vector<operation> writes) {
  submit(p, std::move(writes), [this, p, guids = std::move(guids)](const std::vector<result>& results) {
    const result* failed = nullptr;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const result& r = results[i];
      if (r.code == answer::done) continue;
      const bool is_overtaken = r.code == answer::other_version || r.code == answer::no_node;
      if (!is_overtaken) failed = &r;
      if (is_overtaken && ++p->conflicts > most_tries) continue;  // what was read counts, from now
      p->known.erase(guids[i]);
    }
    if (failed != nullptr) return finish(p, failed);
    list(p);
  });
}

/// All marks are read. Removes those of rests that are over, so that whoever is granted has none beside it.
void name_rests::settle(const place_ptr& p) {
  std::vector<owner_id> over;
  for (const auto& [guid, known] : p->known) {
    // The claim of one with leases may remove it itself, and write to it before.
    if (!known.is_ignored && known.hold.until <= time_.now() && known.hold.leases == 0) over.push_back(guid);
  }
  if (!over.empty()) return remove(p, std::move(over));
  finish(p, nullptr);
}

/// Nobody else needs these marks: their claims have ended, and a mark of an ended claim is never written
/// anew.
void name_rests::remove(const place_ptr& p, std::vector<owner_id> guids) {
  std::vector<operation> removals;
  removals.reserve(guids.size());
  for (const owner_id& each : guids)
    removals.push_back({.kind = kind::remove, .path = mark_path(p->base, each)});
  submit(p, std::move(removals), [this, p, guids = std::move(guids)](const std::vector<result>& results) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      const result& r = results[i];
      // Somebody has put a node below it, or may not remove it. It is over all the same.
      if (r.code == answer::not_empty || r.code == answer::refused) {
        p->known[guids[i]].is_ignored = true;
      } else if (is_error(r)) {
        return finish(p, &r);
      }
    }
    list(p);
  });
}

void name_rests::finish(const place_ptr& p, const result* failed) {
  rests_seen seen = std::exchange(p->seen, {});
  for (const auto& [guid, known] : p->known) {
    if (!known.is_ignored) seen.formers.push_back(known.hold);
  }
  const std::optional<result> reason = failed == nullptr ? std::nullopt : std::optional{*failed};
  const std::vector<on_seen> served = std::exchange(p->served, {});
  p->is_looking = false;
  // Those who have asked meanwhile are served by one more look.
  if (p->is_due) begin(p);
  for (const on_seen& each : served) each(reason ? &*reason : nullptr, seen);
  const bool is_used = p->is_looking || !p->next.empty();
  const auto found = places_.find(p->queue);
  if (!is_used && found != places_.end() && found->second == p) places_.erase(found);
}

void name_rests::expired() {
  for (auto& [queue, p] : std::exchange(places_, {})) {
    p->is_left = true;
    time_.cancel(std::exchange(p->timer, 0));
    std::vector<on_seen> all = std::exchange(p->served, {});
    for (on_seen& each : std::exchange(p->next, {})) all.push_back(std::move(each));
    time_.at(time_.now(), [all = std::move(all), path = queue] {
      const result ended{
          .code = answer::unknown, .path = path, .reason = {errc::unavailable, "the session ended"}};
      for (const on_seen& each : all) each(&ended, {});
    });
  }
}

}  // namespace holdfast::zookeeper
