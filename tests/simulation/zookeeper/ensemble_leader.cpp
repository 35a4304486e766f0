// SPDX-License-Identifier: Apache-2.0
// What the leader of an ensemble does: it keeps the sessions, decides on all changes, and tells the
// followers.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <utility>

#include "simulation/zookeeper/ensemble.hpp"

namespace holdfast::sim {

using namespace std::chrono_literals;
using zookeeper::answer;
using zookeeper::operation;
using zookeeper::operation_kind;
using zookeeper::result;

namespace {

/// As java's `%010d` writes them.
std::string digits_of(std::int32_t number) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%010d", number);
  return text.data();
}

std::int32_t after(std::int32_t number) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(number) + 1);
}

}  // namespace

std::int64_t ensemble::leader_clock() const { return servers_[*leader_].at.boot.at(in_.now).count(); }

/// Looks at every tick of its own clock which sessions are over.
void ensemble::lead_on(std::uint64_t term) {
  if (term != term_) return;
  const std::int64_t tick = std::chrono::nanoseconds{settings_.tick}.count();
  const std::int64_t next = (leader_clock() / tick + 1) * tick;
  in_.agenda.add(servers_[*leader_].at.boot.when(std::chrono::nanoseconds{next}), [this, term] {
    if (term != term_) return;
    servers_[*leader_].at.enter([this, term] {
      if (term != term_) return;
      end_overdue();
      lead_on(term);
    });
  });
}

void ensemble::end_overdue() {
  const std::int64_t now = leader_clock();
  std::vector<std::int64_t> over;
  for (const auto& [id, s] : sessions_) {
    if (!s.is_endless && s.ends <= now) over.push_back(id);
  }
  for (const std::int64_t id : over) end(id);
}

/// At every half tick the followers tell which sessions they have heard of.
void ensemble::ping(std::uint64_t term) {
  if (term != term_ || servers_.size() == 1) return;
  in_.after(settings_.tick / 2, [this, term] {
    if (term != term_) return;
    servers_[*leader_].at.enter([this, term] {
      if (term != term_) return;
      for (std::size_t i = 0; i < servers_.size(); ++i) {
        if (i == *leader_ || !servers_[i].follows) continue;
        from_leader(i, [this, i] {
          auto heard = std::make_shared<std::set<std::int64_t>>(std::exchange(servers_[i].heard_of, {}));
          to_leader(i, [this, heard] {
            for (const std::int64_t id : *heard) touch(id);
          });
        });
      }
      ping(term);
    });
  });
}

void ensemble::touch(std::int64_t which) {
  const auto found = sessions_.find(which);
  if (found == sessions_.end()) return;
  const std::int64_t tick = std::chrono::nanoseconds{settings_.tick}.count();
  const std::int64_t end = leader_clock() + std::chrono::nanoseconds{found->second.timeout}.count();
  found->second.ends = std::max(found->second.ends, (end / tick + 1) * tick);
}

void ensemble::let_in(std::size_t at, const connection_ptr& c, const hello& h) {
  std::int64_t id = h.session;
  if (id == 0) {
    id = ++last_session_;
    session s;
    s.timeout = std::clamp<duration>(h.timeout, settings_.tick * 2, settings_.tick * 20);
    sessions_[id] = s;
    transaction t;
    t.type = transaction::kind::begin_session;
    t.session = id;
    commit(std::move(t));
  }
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) {
    from_leader(at, [this, at, c] { send(at, *c, {session_is_over{}, 0}); });
    return;
  }
  found->second.owner = c;
  touch(id);
  in_.note("session", static_cast<std::uint64_t>(id), at);
  from_leader(at, [this, at, c, id, timeout = found->second.timeout] {
    c->session = id;
    servers_[at].heard_of.insert(id);
    send(at, *c, {welcome{id, timeout}, 0});
  });
}

void ensemble::decide(std::size_t at, const connection_ptr& c,
                      const std::shared_ptr<connection::open_operation>& o) {
  const auto found = sessions_.find(c->session);
  const auto& op = std::get<operation>(o->packet);
  result r;
  if (op.kind == operation_kind::sync) {
    // Answered whatever has become of the session: its end, if so, is told before.
    r.path = op.path;
    // The leader answers its own clients without a look at what others are told already, though it may carry
    // that out later than they; but not before what their session asked for, of whichever server
    // (ProposalRequestProcessor, CommitProcessor).
    if (at == *leader_ && found != sessions_.end() && found->second.last <= servers_[at].known.last()) {
      o->result = std::move(r);
      return pump(at, c);
    }
  } else if (found == sessions_.end()) {
    r = failed(op, answer::unknown);
  } else if (found->second.owner != c) {
    // The session has moved to another connection, maybe to one that was given up long ago and was late to
    // arrive. As ZooKeeper does since its issue 710, this one is ended, so that its client comes anew.
    from_leader(at, [this, at, c] {
      std::erase(servers_[at].connections, c);
      if (c->is_open()) c->way->cut();
    });
    return;
  } else {
    r = prepare(op, c->session);
  }
  from_leader(at, [this, at, c, o, r = std::make_shared<result>(std::move(r))] {
    o->result = std::move(*r);
    pump(at, c);
  });
}

result ensemble::prepare(const operation& op, std::int64_t by) {
  transaction t;
  t.path = op.path;
  t.data = op.data;
  t.by = by;
  t.wall_ms = servers_[*leader_].at.wall_now() / 1000;
  const znode* const n = decided_.find(op.path);
  result r;
  switch (op.kind) {
    case operation_kind::create:
      t.type = transaction::kind::create;
      t.container = op.make == operation::made::container;
      t.session = t.container ? 0 : by;
      if (const auto problem = prepare_new(op, t)) return failed(op, *problem);
      break;
    case operation_kind::replace:
      t.type = transaction::kind::replace;
      t.session = by;
      if (const auto problem = prepare_new(op, t)) return failed(op, *problem);
      if (decided_.find(op.former) == nullptr) return failed(op, answer::no_node);
      t.gone.push_back(op.former);
      break;
    case operation_kind::set:
      if (n == nullptr) return failed(op, answer::no_node);
      t.type = transaction::kind::set;
      break;
    case operation_kind::agree:
      if (n == nullptr) return failed(op, answer::no_node);
      t.type = transaction::kind::nothing;
      break;
    case operation_kind::remove:
      if (n == nullptr) return failed(op, answer::no_node);
      if (!n->children.empty()) return failed(op, answer::not_empty);
      t.type = transaction::kind::remove;
      break;
    default: return failed(op, answer::other);
  }
  r.path = t.path;
  commit(std::move(t));
  if (const znode* const made = decided_.find(r.path)) r.about = znodes::about(*made);
  return r;
}

/// A child's number is counted on from what is still being written, and beyond the end of the range; what is
/// written stays at the end (PrepRequestProcessor, and DataTree.createNode since 3.5).
std::optional<answer> ensemble::prepare_new(const operation& op, transaction& t) {
  const std::string above = parent_of(op.path);
  const znode* const parent = decided_.find(above);
  if (parent == nullptr) return answer::no_node;
  const bool counts_on = being_written_.contains(above) && being_written_[above].until > in_.now;
  const std::int32_t number = counts_on ? being_written_[above].next : parent->version;
  if (op.make == operation::made::sequential) t.path += digits_of(number);
  if (decided_.find(t.path) != nullptr) return answer::node_exists;
  if (parent->session != 0) return answer::no_children;
  t.parent_version = after(number);
  // It matters at the end alone.
  if (settings_.first_number != 0) {
    being_written_[above] = {t.parent_version, in_.now + in_.chance.between(0us, 2ms)};
  }
  if (t.container && made_before_.insert(t.path).second) t.first_number = settings_.first_number;
  return std::nullopt;
}

void ensemble::commit(transaction t) {
  t.number = static_cast<std::int64_t>(term_ << 32U) + ++changes_;
  decided_.apply(t);
  if (const auto asker = sessions_.find(t.by); asker != sessions_.end()) asker->second.last = t.number;
  if (in_.log.prints() && !t.path.empty()) {
    constexpr std::array verbs{"creates ",  "sets ", "removes ", "begins ", "ends ", "replaces a node by ",
                               "agrees at "};
    in_.log.line(in_.now, "session " + std::to_string(t.by) + " " +
                              verbs.at(static_cast<std::size_t>(t.type)) + t.path);
  }
  in_.note("decided", static_cast<std::uint64_t>(t.number), static_cast<std::uint64_t>(t.type),
           static_cast<std::uint64_t>(t.session));
  if (on_change) on_change(t);
  const auto shared = std::make_shared<const transaction>(std::move(t));
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    if (servers_[i].follows) from_leader(i, [this, i, shared] { carry_out(i, *shared); });
  }
}

void ensemble::end(std::int64_t which) {
  if (sessions_.erase(which) == 0) return;
  transaction t;
  t.type = transaction::kind::end_session;
  t.session = t.by = which;
  t.gone = decided_.paths_of([&](const std::string&, const znode& n) { return n.session == which; });
  commit(std::move(t));
}

}  // namespace holdfast::sim
