// SPDX-License-Identifier: Apache-2.0
#include "stores/zookeeper/protocol/claim.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <string_view>
#include <utility>

#include "base/metadata.hpp"
#include "stores/zookeeper/protocol/note.hpp"

namespace holdfast::zookeeper {

using kind = operation_kind;

namespace {

/// The number of contenders ahead that are read one by one. If there are more, one listing is cheaper.
constexpr std::size_t few = 16;

/// How often nodes are created again, because the servers have removed their new parent meanwhile.
constexpr int most_tries = 5;

role role_of(const store::claim& r) {
  if (r.mode == mode::permits) return role::mutex;  // its role in the queue; its leases make the hold
  if (r.mode == mode::shared) return role::reader;
  if (r.election) return role::latch;
  return r.shareable ? role::writer : role::mutex;
}

/// A different guid for each new entry of an owner, so that a node of the last entry is never mistaken for
/// the new one.
owner_id guid_of(const owner_id& owner, std::uint64_t serial) {
  owner_id::bytes_type bytes{};
  std::copy_n(owner.bytes().begin(), owner_id::size, bytes.begin());
  for (std::size_t i = 0; i < sizeof serial; ++i) {
    bytes[i] ^= static_cast<std::uint8_t>(serial >> (8 * i));
  }
  return marked_as_ours(owner_id{bytes});
}

/// The capacity is in the data of `leases`, where other clients read it.
std::optional<std::int64_t> capacity_in(const result& leases) {
  const auto n = read_note(leases.data);
  return n && n->capacity != 0 ? std::optional{n->capacity} : std::nullopt;
}

store::request_error mixed_layout(const std::string& path, const std::string& node) {
  return {{errc::wrong_type, "contenders of another layout (" + node + ") stand below " + path +
                                 "; give all clients of this lock the same 'layout'"},
          false,
          false};
}

store::request_error misnamed(const result& creation) {
  return {{errc::corrupt_store, "the servers gave the node of a claim another name (" + creation.path +
                                    "); look at their logs, and whether a proxy changes replies"},
          false,
          false};
}

/// The numbers below `parent` are used up. The claim comes again later. The parent is removed if it is empty
/// by then, so that counting begins anew: the servers remove no node with children.
claim::next without_numbers(claim::next::action leaves, const claim_identity& of, const std::string& parent) {
  claim::next n{.is = leaves, .reply = tickets::reply{tickets::refused{}}, .parent = parent};
  if (!of.wish.wait) return n;
  n.reply = store::request_error{{errc::unavailable, "ZooKeeper has no more numbers for the children of " +
                                                         parent + "; remove that node while nobody uses it"},
                                 true,
                                 false};
  return n;
}

/// The data of a claim's nodes.
/// \param token zero, or the token that it keeps (see note).
std::string data_of(const claim_identity& of, fencing_token token = {}) {
  note n;
  n.token = token;
  if (of.is_of_permits()) {
    n.permits = of.wish.permits;
    n.capacity = of.wish.capacity;
  }
  n.ttl = store_ttl(of.wish);
  if (of.wish.metadata) n.metadata = *of.wish.metadata;
  if (!of.wish.election) return to_text(n);
  // Curator's LeaderLatch and kazoo's Election show a participant's data as its id.
  return from_metadata(n.metadata).value.value_or("") + '\n' + to_text(n);
}

/// The leases fit into the capacity.
claim::next have_permits(const claim_identity& of, std::optional<std::int64_t> written) {
  claim::next n{.is = claim::next::hold};
  if (written == of.wish.capacity) return n;
  note capacity;
  capacity.capacity = of.wish.capacity;
  n.send.steps.push_back({.kind = kind::set, .path = of.leases_path(), .data = to_text(capacity)});
  return n;
}

claim::next refusal(tickets::link::outcome reply) {
  return {.is = claim::next::refuse, .reply = std::move(reply)};
}
claim::next answer_with(tickets::link::outcome reply) {
  return {.is = claim::next::answer, .reply = std::move(reply)};
}

bool contains(const std::vector<std::string>& all, std::string_view one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace

claim_identity::claim_identity(const store::claim& r, std::uint64_t number, layout l, std::string path)
    : wish{r},
      serial{number},
      style{l},
      guid{guid_of(r.owner, number)},
      base{std::move(path)},
      queue{is_of_permits() ? base + "/locks" : base} {}

std::vector<std::string> claim::nodes() const {
  std::vector<std::string> all = leases_;
  if (!place_) return all;
  all.push_back(place_path());
  if (replaces(all.back())) all.push_back(queue + '/' + zookeeper::downgraded(style, place_->number, guid));
  return all;
}

void claim::leave() {
  state_ = state::leaving;
  line_.reset();
}

// ---- it enters

operation claim::create() {
  state_ = state::entering;
  return {.kind = kind::create,
          .path = queue + '/' + node_name(style, role_of(wish), guid),
          .data = data_of(*this),
          .make = operation::made::sequential};
}

claim::next claim::entered(const std::optional<result>& made, const listing& l) {
  // The creation is answered before the later listing; otherwise the connection has broken.
  if (!made) return doubt({{errc::unavailable, "the connection broke"}, true, true});
  if (made->code == answer::no_node && tries_++ < most_tries)
    return {.is = next::make_parents, .parent = queue};
  if (made->code == answer::unknown) return doubt(request_error_of(*made));
  // A damaged reply: the node is there, under an unknown number.
  if (made->reason.code == errc::corrupt_store)
    return {.is = next::start_over, .reply = request_error_of(*made)};
  if (made->code != answer::done) return refusal(request_error_of(*made));

  place_ = contender_at(style, queue, made->path);
  if (!place_) return {.is = next::start_over, .reply = misnamed(*made)};
  tries_ = 0;
  token_ = token_of(made->about);
  // A client that may not list the queue must not be in it: others would wait behind it without need.
  if (l.queue.code == answer::refused) return refusal(request_error_of(l.queue));
  // The connection broke in between; the place will be found later.
  if (l.queue.code != answer::done) return doubt({request_error_of(l.queue).reason, true, true});
  if (l.stranger) return refusal(mixed_layout(queue, *l.stranger));
  if (line_->cannot_order(*place_)) return without_numbers(next::refuse, *this, queue);
  if (!l.other_kind) return settle();
  if (is_of_permits()) return refusal(tickets::reply{tickets::other_capacity{store::full_capacity}});
  // The name may be in use as a semaphore.
  batch parts{.then = &claim::kinds_read, .if_gone = session_ended(true)};
  if (contains(l.queue.children, "leases")) {
    parts.steps.push_back({.kind = kind::get, .path = leases_path()});
    parts.steps.push_back({.kind = kind::list, .path = leases_path()});
  }
  if (contains(l.queue.children, "locks"))
    parts.steps.push_back({.kind = kind::list, .path = base + "/locks"});
  return {.is = next::ask, .send = std::move(parts)};
}

claim::next claim::parents_made(const std::optional<store::request_error>& failed) {
  if (state_ == state::taking) return failed ? next{.is = next::start_over, .reply = *failed} : take_leases();
  if (!failed) return {.is = next::enter};
  return refusal(store::request_error{failed->reason, failed->retryable, false});
}

claim::next claim::kinds_read(const std::vector<result>& results, wire_nodes& /*nodes*/) {
  bool used = false;
  std::int64_t capacity = 0;
  for (const result& r : results) {
    if (is_error(r)) return doubt({request_error_of(r).reason, true, true});
    used = used || std::any_of(r.children.begin(), r.children.end(), looks_like_contender);
    capacity = std::max(capacity, capacity_in(r).value_or(0));
  }
  return used ? refusal(tickets::reply{tickets::other_capacity{capacity}}) : settle();
}

claim::next claim::doubt(const store::request_error& reason) {
  state_ = state::unsure;
  return answer_with(reason);
}

/// Its guid is in its node's name, and the node must be of this session. A node of a former session is gone
/// or will go.
///
/// The server that answers may lag behind the one that got the request, so it has to catch up first. A `sync`
/// is not enough: a deposed leader that does not know it yet answers a `sync` by itself. A node that is
/// missed here would stay for the session, and all contenders would wait behind it.
claim::batch claim::search() const {
  return {{{.kind = kind::agree, .path = "/"}, {.kind = kind::list, .path = queue}}, &claim::searched};
}

claim::next claim::searched(const std::vector<result>& results, wire_nodes& /*nodes*/) {
  assert(state_ == state::unsure);  // so it is queued
  if (!is_agreed(results[0])) return answer_with(request_error_of(results[0]));
  if (is_error(results[1])) return answer_with(request_error_of(results[1]));
  // At once: before the next answer another claim may read a later list.
  line_->read(results[1].children);
  const std::vector<contender> there = made_with(style, guid, results[1].children);
  if (there.empty()) return {.is = next::forget};
  return {.is = next::ask,
          .send = {{{.kind = kind::exists, .path = queue + '/' + there.front().node}}, &claim::found}};
}

claim::next claim::found(const std::vector<result>& results, wire_nodes& nodes) {
  assert(state_ == state::unsure);
  const result& node = results[0];
  if (is_unanswered(node)) return answer_with(request_error_of(node));
  if (node.code != answer::done || node.about.session != nodes.session()) return {.is = next::forget};
  place_ = contender_at(style, queue, node.path);
  token_ = token_of(node.about);
  if (line_->cannot_order(*place_)) return without_numbers(next::refuse, *this, queue);
  next n = settle();
  // A claim that does not wait asks again to get its refusal.
  if (n.is == next::refuse) n.reply = tickets::reply{tickets::nothing{}};
  return n;
}

/// The claim is in its queue, which has just been read.
claim::next claim::settle() {
  if (line_->before(*place_, 1).empty()) return come_in();
  if (!wish.wait) return refusal(tickets::reply{tickets::refused{}});
  state_ = state::reading;
  return {.is = next::wait, .reads = extent::none};
}

/// Nobody is ahead of the claim.
claim::next claim::come_in() { return is_of_permits() ? take_leases() : next{.is = next::hold}; }

// ---- it waits

std::string claim::nearest() const {
  const std::vector<std::string> ahead = line_->before(*place_, 1);
  return ahead.empty() ? std::string{} : queue + '/' + ahead.front();
}

std::vector<operation> claim::read_ahead(extent reads, const wire_nodes& nodes, bool is_watched,
                                         bool has_room) {
  const std::vector<std::string> ahead = line_->before(*place_, few + 1);
  std::vector<operation> steps;
  const auto look_at = [&](const std::string& node, bool watch) {
    steps.push_back(nodes.look_at(queue + '/' + node, watch));
  };
  if (!ahead.empty() && (reads != extent::none || (!is_watched && has_room)))
    look_at(ahead.front(), has_room);
  if (reads == extent::all && (ahead.size() > few || line_->may_lack_readers())) {
    steps.push_back({.kind = kind::list, .path = queue});
  } else if (reads == extent::all) {
    for (std::size_t i = 1; i < ahead.size(); ++i) look_at(ahead[i], false);
    for (const std::string& node : line_->possible_readers(*place_)) look_at(node, false);
  }
  if (steps.empty() && !ahead.empty()) state_ = state::waiting;
  return steps;
}

claim::next claim::ahead_read(const std::string& awaited, bool watches, const std::vector<result>& results,
                              wire_nodes& nodes) {
  bool nearest_is_gone = false;
  bool nearest_is_unread = false;
  for (const result& r : results) {
    if (is_unanswered(r)) return {.is = next::unsettle};
    if (r.path == queue) {
      // If the nearest is gone, other claims are notified first. This claim comes here again when it moves
      // up. Otherwise it leaves, and its next request reports the reason.
      if (r.code == answer::refused && !nearest_is_gone) return refusal(request_error_of(r));
      if (r.code == answer::done) line_->read(r.children);
      continue;
    }
    const std::string node = r.path.substr(queue.size() + 1);
    if (line_->is_possible_reader(node)) {
      line_->reader_looked_up(node, r.code != answer::no_node);
      continue;
    }
    if (r.code == answer::no_node) {
      line_->gone(node);
      nearest_is_gone = nearest_is_gone || r.path == awaited;
    } else if (r.code == answer::refused && r.path == awaited) {
      // The node exists and cannot be watched: the servers send a client no events of a node that it may not
      // read. `exists` needs no permission.
      nodes.set_unreadable(awaited);
      nearest_is_unread = watches;
    }
  }
  // A missing node has no watch: other claims that rely on the watch are notified.
  if (nearest_is_gone) return {.is = next::awaited_gone};
  if (nearest_is_unread) return {.is = next::wait, .reads = extent::nearest};
  if (awaited.empty()) return move_up(watched_);
  state_ = state::waiting;
  return {};
}

/// Waits for the next contender ahead, or comes in. Without a watch, its own node may have been removed
/// meanwhile.
claim::next claim::move_up(bool is_there) {
  const bool is_sure = place_->wants == role::reader || !line_->may_lack_readers();
  if (!is_sure || !line_->possible_readers(*place_).empty() || !line_->before(*place_, 1).empty())
    return {.is = next::wait, .reads = extent::all};
  if (is_there) return come_in();
  return {.is = next::ask, .send = {{{.kind = kind::exists, .path = place_path()}}, &claim::own_found}};
}

claim::next claim::own_found(const std::vector<result>& results, wire_nodes& nodes) {
  const result& own = results[0];
  if (!is_waiting()) return {};
  if (is_unanswered(own)) return {.is = next::unsettle};
  if (own.code == answer::no_node || own.about.session != nodes.session()) return {.is = next::revoke};
  return move_up(true);
}

claim::next claim::awaited_changed(const std::string& path, change event) {
  if (event == change::removed && line_) line_->gone(path.substr(path.rfind('/') + 1));
  unsettle();
  if (is_waiting()) return move_up(watched_);
  return state_ == state::counting ? next{.is = next::count} : next{};
}

void claim::unsettle() {
  if (state_ == state::waiting) state_ = state::reading;
  if (state_ == state::crowded) state_ = state::counting;
}

claim::next claim::look_again() const {
  switch (state_) {
    case state::reading: return {.is = next::wait, .reads = extent::all};
    case state::waiting: return {.is = next::wait, .reads = extent::nearest};
    case state::counting:
    case state::crowded: return {.is = next::count};
    default: return {};
  }
}

// ---- permits, by the recipe of Curator's InterProcessSemaphoreV2
//
// The first claim in the queue `locks` creates its leases below `leases`, and waits until all leases together
// fit into the capacity. Only the first claim watches the leases, so a release wakes one client.

claim::next claim::take_leases() {
  state_ = state::taking;
  watched_ = false;  // its place may be watched, its leases are not yet
  const std::string leases = leases_path();
  batch b{.then = &claim::leases_taken, .if_gone = session_ended(true)};
  for (std::int64_t i = 0; i < wish.permits; ++i) {
    b.steps.push_back({.kind = kind::create,
                       .path = leases + '/' + node_name(style, role::lease, guid),
                       .data = data_of(*this),
                       .make = operation::made::sequential});
  }
  b.steps.push_back({.kind = kind::list, .path = leases});
  b.steps.push_back({.kind = kind::get, .path = leases});
  return {.is = next::ask, .send = std::move(b)};
}

claim::next claim::leases_taken(const std::vector<result>& results, wire_nodes& /*nodes*/) {
  if (state_ != state::taking) return answer_with(session_ended(true));
  const auto count = static_cast<std::size_t>(wish.permits);
  if (results[0].code == answer::no_node && tries_++ < most_tries) {
    next n{.is = next::make_parents, .parent = leases_path()};
    // Another client may have made the parent before the others of them came.
    for (std::size_t i = 1; i < count; ++i) {
      if (results[i].code == answer::done) n.strays.push_back(results[i].path);
    }
    return n;
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    const result& r = results[i];
    // Two of its leases got the same number.
    if (r.code == answer::node_exists) return without_numbers(next::start_over, *this, leases_path());
    if (r.code != answer::done) return {.is = next::start_over, .reply = request_error_of(r)};
    if (i >= count) continue;
    if (!contender_at(style, leases_path(), r.path)) return {.is = next::start_over, .reply = misnamed(r)};
    leases_.push_back(r.path);
    token_ = std::max(token_, token_of(r.about));
  }
  const std::size_t present = results[count].children.size();
  written_capacity_ = capacity_in(results[count + 1]);
  if (present > count && written_capacity_ && written_capacity_ != wish.capacity)
    return refusal(tickets::reply{tickets::other_capacity{*written_capacity_}});
  if (present <= static_cast<std::size_t>(wish.capacity)) return have_permits(*this, written_capacity_);
  if (!wish.wait) return refusal(tickets::reply{tickets::refused{}});
  return {.is = next::count};
}

/// Watches the leases, and counts them again: some may have gone before the watch was set.
claim::batch claim::count(const wire_nodes& nodes) {
  state_ = state::counting;
  const bool room = nodes.has_room(leases_path(), watch_kind::children);
  std::size_t planned_bytes = 0;
  const bool watches = watched_ || nodes.can_watch(this->nodes(), planned_bytes);
  batch b{{{.kind = kind::list, .path = leases_path(), .watch = room}},
          [watches](claim& c, const std::vector<result>& results, wire_nodes& of) {
            return c.counted(watches, results, of);
          }};
  if (!watched_) {
    for (const std::string& path : this->nodes()) b.steps.push_back(nodes.look_at(path, watches));
  }
  return b;
}

claim::next claim::counted(bool watches, const std::vector<result>& results, wire_nodes& nodes) {
  if (state_ != state::counting && state_ != state::crowded) return {};
  bool unread = false;
  for (const result& r : results) {
    if (r.code == answer::no_node) return {.is = next::revoke};
    if (r.code == answer::refused && &r == results.data()) return refusal(request_error_of(r));
    if (r.code == answer::refused) {
      unread = nodes.set_unreadable(r.path) || unread;
    } else if (r.code != answer::done) {
      return {.is = next::unsettle};
    }
  }
  if (unread) return {.is = next::count};
  watched_ = watches;
  state_ = state::crowded;
  return results[0].children.size() <= static_cast<std::size_t>(wish.capacity)
             ? have_permits(*this, written_capacity_)
             : next{};
}

// ---- it holds

bool claim::hold() {
  state_ = state::holding;
  std::exchange(line_, nullptr)->holds(*place_);
  if (!is_of_permits()) return has_unread_request_;
  gate_ = place_path();
  place_.reset();
  return false;
}

std::optional<operation> claim::read_own(const std::string& path, const wire_nodes& nodes) {
  watched_ = false;
  const bool holds = state_ == state::holding;
  if (!holds && !is_waiting()) return std::nullopt;
  std::size_t planned_bytes = 0;
  watched_ = leases_.size() < 2 && nodes.can_watch({path}, planned_bytes);
  if (!holds && !watched_) return std::nullopt;  // it is read before it comes in
  return nodes.look_at(path, watched_);
}

claim::next claim::own_read(const result& r, std::int64_t session) {
  if (r.code != answer::done) watched_ = false;
  if (is_unanswered(r)) return {.is = next::unsettle};
  if (r.code == answer::no_node || (r.code == answer::done && r.about.session != session))
    return {.is = next::revoke};
  if (state_ == state::holding) return take_request(r);
  has_unread_request_ = r.code == answer::done && request_in(r.data).has_value();
  return {};
}

/// The holder is asked to release. Its own data is written back, now with the request, unless it is there:
/// others read from it who holds.
claim::next claim::take_request(const result& read) {
  if (read.code != answer::done || !wish.metadata) return {};
  const bool is_downgraded = lowering_ && place_->wants == role::reader;
  const auto own_data = [&] { return data_of(*this, is_downgraded ? token_ : fencing_token{}); };
  if (read.data == own_data()) return {};  // which may look like a request: a leader's value is any text
  const auto reason = request_in(read.data);
  if (!reason) return {};
  wish.metadata = std::make_shared<const std::string>(with_release_request(*wish.metadata, *reason));
  next n{.is = next::pass_request};
  if (std::string own = own_data(); own != read.data)
    n.send.steps.push_back({.kind = kind::set, .path = read.path, .data = std::move(own)});
  return n;
}

std::vector<operation> claim::confirm(const wire_nodes& nodes, std::size_t& planned_bytes) {
  std::vector<operation> steps;
  if (state_ != state::holding || watched_) return steps;
  const std::vector<std::string> all = this->nodes();
  if (replaces(all.front())) return steps;
  watched_ = nodes.can_watch(all, planned_bytes);
  for (const std::string& path : all) steps.push_back(nodes.look_at(path, watched_));
  return steps;
}

/// As Curator does, replaces the writer's node by a reader's node with the same number, but in one step: if
/// the hold was ended by force meanwhile, a reader's node would be ahead of contenders that have seen the
/// end.
claim::next claim::downgrade() {
  if (place_->wants == role::reader) return answer_with(tickets::reply{tickets::done{}});
  if (place_->wants == role::mutex) {
    return answer_with(store::request_error{
        {errc::wrong_type,
         "a mutex cannot be downgraded to a reader on this store; lock it by a shared_mutex"},
        false,
        false});
  }
  lowering_ = true;
  watched_ = false;  // events of the writer's node are ignored from now on
  next n{.is = next::ask, .send = {.then = &claim::downgraded}};
  n.send.steps.push_back({.kind = kind::replace,
                          .path = queue + '/' + zookeeper::downgraded(style, place_->number, guid),
                          .data = data_of(*this, token_),
                          .former = place_path()});
  return n;
}

claim::next claim::downgraded(const std::vector<result>& results, wire_nodes& /*nodes*/) {
  const result& r = results[0];
  if (is_unanswered(r)) return answer_with(request_error_of(r));
  // The reader's node exists if an earlier try was carried out and its answer was lost.
  if (r.code == answer::done || r.code == answer::node_exists) {
    place_ = parse(style, zookeeper::downgraded(style, place_->number, guid));
    return answer_with(tickets::reply{tickets::done{}});
  }
  if (r.code == answer::no_node) return {.is = next::forget};  // the hold was ended by force
  lowering_ = false;
  return answer_with(request_error_of(r));
}

operation claim::annotate(std::shared_ptr<const std::string> metadata) {
  if (wish.metadata && metadata)
    metadata = std::make_shared<const std::string>(with_request_of(*metadata, *wish.metadata));
  wish.metadata = std::move(metadata);
  return {.kind = kind::set, .path = place_path(), .data = data_of(*this)};
}

}  // namespace holdfast::zookeeper
