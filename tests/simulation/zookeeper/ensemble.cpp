// SPDX-License-Identifier: Apache-2.0
#include "simulation/zookeeper/ensemble.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "simulation/zookeeper/zookeeper_link.hpp"

namespace holdfast::sim {

using namespace std::chrono_literals;
using zookeeper::answer;
using zookeeper::change;
using zookeeper::operation;
using zookeeper::operation_kind;
using zookeeper::result;

namespace {

bool is_voted_on(const operation& op) {
  switch (op.kind) {
    case operation_kind::create:
    case operation_kind::set:
    case operation_kind::remove:
    case operation_kind::replace:
    case operation_kind::agree: return true;
    default: return false;
  }
}

}  // namespace

result failed(const operation& op, answer code, const char* reason) {
  result r;
  r.code = code;
  r.path = op.path;
  r.reason = {errc::unavailable, reason};
  return r;
}

ensemble::server::server(scene& in, std::int64_t rate_ppm)
    : at{in, clock{1h, rate_ppm}, clock{24h * 365 * 50, rate_ppm}} {}

ensemble::ensemble(scene& in, settings s, const std::vector<std::int64_t>& rates_ppm)
    : in_{in}, settings_{s} {
  for (std::size_t i = 0; i < s.servers; ++i) servers_.emplace_back(in, rates_ppm.at(i));
  elect(term_);
}

// ---- one server

void ensemble::receive(std::size_t at, zookeeper_link& from, line& over, packet_number which,
                       client_packet packet) {
  const std::uint32_t number = which.connection;
  if (const auto held = held_.find(&over); held != held_.end()) {
    if (in_.now < held->second.until && number == held->second.connection) {
      in_.agenda.add(held->second.until, [this, at, to = &from, way = &over, which,
                                          packet = std::make_shared<client_packet>(std::move(packet))] {
        if (way->connection() == which.connection) receive(at, *to, *way, which, std::move(*packet));
      });
      return;
    }
    if (number != held->second.connection || in_.now >= held->second.until) held_.erase(held);
  }
  server& s = servers_[at];
  const auto refuse = [&] {
    if (over.connection() == number) over.cut();
  };
  if (s.is_down) return refuse();
  const auto known = std::find_if(s.connections.begin(), s.connections.end(), [&](const connection_ptr& c) {
    return c->way == &over && c->number == number;
  });
  if (known != s.connections.end()) {
    const connection_ptr c = *known;
    if (which.nth != c->next) return;
    ++c->next;
    s.at.enter([this, at, c, p = std::make_shared<client_packet>(std::move(packet)), in = s.contact] {
      if (servers_[at].contact == in) arrive(at, c, std::move(*p));
    });
    return;
  }
  const auto* h = std::get_if<hello>(&packet);
  const bool serves = s.follows || former_leader_ == at;
  // Whoever has seen more than this server is not let in by it.
  if (!serves || is_apart(over, at) || h == nullptr || h->last_seen > s.known.last()) return refuse();
  const auto c = std::make_shared<connection>();
  c->to = &from;
  c->way = &over;
  c->number = number;
  std::erase_if(s.connections, [&](const connection_ptr& old) { return old->way == &over; });
  s.connections.push_back(c);
  s.at.enter([this, at, c, h = *h, in = s.contact] {
    if (servers_[at].contact != in) return;
    if (former_leader_ == at) return let_in_as_former_leader(c, h);
    to_leader(at, [this, at, c, h] { let_in(at, c, h); });
  });
}

void ensemble::arrive(std::size_t at, const connection_ptr& c, client_packet packet) {
  server& s = servers_[at];
  if (c->session == 0) return;  // not let in (any more)
  if (former_leader_ == at) return serve_as_former_leader(c, std::move(packet));
  if (leader_ == at) {
    touch(c->session);
  } else {
    s.heard_of.insert(c->session);
  }
  const auto o = std::make_shared<connection::open_operation>();
  o->packet = std::move(packet);
  if (const auto* request = std::get_if<operation>(&o->packet)) {
    o->needs_leader = is_voted_on(*request) || request->kind == operation_kind::sync;
  }
  c->queue.push_back(o);
  if (o->needs_leader) to_leader(at, [this, at, c, o] { decide(at, c, o); });
  pump(at, c);
}

/// Answers in the order of asking.
void ensemble::pump(std::size_t at, const connection_ptr& c) {
  while (!c->queue.empty()) {
    const auto o = c->queue.front();
    if (o->needs_leader && !o->result) return;
    c->queue.pop_front();
    if (std::holds_alternative<still_there>(o->packet)) {
      send(at, *c, {pong{}, 0});
      continue;
    }
    if (const auto* again = std::get_if<watches_again>(&o->packet)) {
      watch_again(at, c, *again);
      continue;
    }
    result r = o->needs_leader ? std::move(*o->result) : read(at, c, std::get<operation>(o->packet));
    send(at, *c, {std::move(r), 0});
  }
}

result ensemble::read(std::size_t at, const connection_ptr& c, const operation& o) {
  server& s = servers_[at];
  result r;
  r.path = o.path;
  if (o.kind == operation_kind::unwatch) {
    stop_watching(o.children ? s.lists : s.nodes, o.path, c);
    return r;
  }
  const znode* const n = s.known.find(o.path);
  if (n == nullptr) return failed(o, answer::no_node);
  watch_table& table = o.kind == operation_kind::list ? s.lists : s.nodes;
  if (o.watch) {
    c->again.erase(o.path);
    auto& watching = table[o.path];
    if (std::find(watching.begin(), watching.end(), c) == watching.end()) watching.push_back(c);
  }
  r.about = znodes::about(*n);
  if (o.kind == operation_kind::get) r.data = n->data;
  if (o.kind == operation_kind::list) {  // in any order
    r.children.assign(n->children.begin(), n->children.end());
    if (r.children.size() > 1) {
      const auto middle = static_cast<std::ptrdiff_t>(in_.chance.below(r.children.size()));
      std::rotate(r.children.begin(), r.children.begin() + middle, r.children.end());
    }
  }
  return r;
}

void ensemble::watch_again(std::size_t at, const connection_ptr& c, const watches_again& w) {
  server& s = servers_[at];
  for (const std::string& path : w.nodes) {
    const znode* const n = s.known.find(path);
    if (n == nullptr) {
      send(at, *c, {happening{path, change::removed}, 0});
    } else if (n->changed > w.last_seen) {
      send(at, *c, {happening{path, change::data}, 0});
    } else {
      s.nodes[path].push_back(c);
      c->again.insert(path);
    }
  }
  for (const std::string& path : w.lists) {
    const znode* const n = s.known.find(path);
    if (n == nullptr) {
      send(at, *c, {happening{path, change::removed}, 0});
    } else if (n->last_child > w.last_seen) {
      send(at, *c, {happening{path, change::children}, 0});
    } else {
      s.lists[path].push_back(c);
    }
  }
}

void ensemble::carry_out(std::size_t at, const transaction& t) {
  server& s = servers_[at];
  s.known.apply(t);
  const auto removed = [&](const std::string& path) {
    fire(at, s.nodes, path, change::removed);
    fire(at, s.lists, path, change::removed);
    fire(at, s.lists, parent_of(path), change::children);
  };
  switch (t.type) {
    case transaction::kind::create: return fire(at, s.lists, parent_of(t.path), change::children);
    case transaction::kind::replace:
      for (const std::string& path : t.gone) removed(path);
      return fire(at, s.lists, parent_of(t.path), change::children);
    case transaction::kind::set: return fire(at, s.nodes, t.path, change::data);
    case transaction::kind::remove: return removed(t.path);
    case transaction::kind::end_session: {
      for (const std::string& path : t.gone) removed(path);
      s.heard_of.erase(t.session);
      const auto all = s.connections;
      for (const connection_ptr& c : all) {
        if (c->session == t.session && c->is_open()) c->way->cut();
      }
      std::erase_if(s.connections, [&](const connection_ptr& c) { return c->session == t.session; });
      return;
    }
    case transaction::kind::begin_session:
    case transaction::kind::nothing: return;
  }
}

/// Each watch tells once.
void ensemble::fire(std::size_t at, watch_table& from, const std::string& path, change event) {
  const auto found = from.find(path);
  if (found == from.end()) return;
  const auto all = std::move(found->second);
  from.erase(found);
  for (const connection_ptr& c : all) {
    if (!c->is_open()) continue;
    if (event == change::removed && on_removal_notified && !c->again.contains(path))
      on_removal_notified(path, c->session);
    send(at, *c, {happening{path, event}, 0});
  }
}

void ensemble::stop_watching(watch_table& from, const std::string& path, const connection_ptr& c) {
  const auto found = from.find(path);
  if (found == from.end()) return;
  std::erase(found->second, c);
  if (found->second.empty()) from.erase(found);
}

void ensemble::send(std::size_t at, const connection& c, server_packet p) {
  p.last = servers_[at].known.last();
  if (!c.is_open()) return;
  c.way->to_client(c.number, [to = c.to, shared = std::make_shared<server_packet>(std::move(p))] {
    to->hear(std::move(*shared));
  });
}

std::size_t ensemble::watches() const {
  std::size_t count = 0;
  for (const server& s : servers_) {
    for (const watch_table* table : {&s.nodes, &s.lists}) {
      for (const auto& [path, all] : *table) {
        count += static_cast<std::size_t>(
            std::count_if(all.begin(), all.end(), [](const connection_ptr& c) { return c->is_open(); }));
      }
    }
  }
  return count;
}

/// Without a leader it serves nobody.
/// \param silently its computer is gone, and says nothing.
void ensemble::leave(std::size_t at, bool silently) {
  server& s = servers_[at];
  if (former_leader_ == at) former_leader_.reset();
  s.follows = false;
  ++s.contact;
  s.heard_of.clear();
  s.nodes.clear();
  s.lists.clear();
  for (const connection_ptr& c : std::exchange(s.connections, {})) {
    c->queue.clear();
    c->session = 0;
    if (!c->is_open()) continue;
    if (silently && in_.chance.one_in(2)) {
      c->way->go_half_open(true, true, in_.now + in_.chance.between(1ms, 2s));
    } else {
      c->way->cut();
    }
  }
}

void ensemble::join(std::size_t at) {
  server& s = servers_[at];
  if (s.follows || s.is_down || !leader_ || former_leader_ == at) return;
  s.known = decided_;
  s.follows = true;
  s.up_last = s.down_last = s.up_held = s.down_held = in_.now;
  in_.note("joins", at);
}

// ---- by a leader that was deposed and does not know it

void ensemble::let_in_as_former_leader(const connection_ptr& c, const hello& h) {
  const auto known = former_sessions_.find(h.session);
  if (known == former_sessions_.end()) return;  // that a session begins, or is over, has to be voted on
  in_.note("let in by a former leader", static_cast<std::uint64_t>(h.session));
  c->session = h.session;
  send(*former_leader_, *c, {welcome{h.session, known->second}, 0});
}

void ensemble::serve_as_former_leader(const connection_ptr& c, client_packet packet) {
  const auto o = std::make_shared<connection::open_operation>();
  o->packet = std::move(packet);
  if (const auto* request = std::get_if<operation>(&o->packet)) {
    o->needs_leader = is_voted_on(*request) || request->kind == operation_kind::sync;
    if (request->kind == operation_kind::sync)
      o->result = result{.code = answer::done, .path = request->path};
  }
  c->queue.push_back(o);
  pump(*former_leader_, c);
}

// ---- without a connection

std::optional<result> ensemble::propose(const operation& op, std::int64_t by) {
  if (!leader_ || (by != 0 && !has_session(by))) return std::nullopt;
  return prepare(op, by);
}

std::optional<std::int64_t> ensemble::begin_session() {
  if (!leader_) return std::nullopt;
  session s;
  s.is_endless = true;
  sessions_[++last_session_] = s;
  return last_session_;
}

void ensemble::end_session(std::int64_t which) {
  if (leader_) return end(which);
  in_.after(100ms, [this, which] { end_session(which); });
}

void ensemble::sweep() {
  if (!leader_) return;
  const auto is_empty = [](const std::string&, const znode& n) {
    return n.container && n.children.empty() && n.version > 0;
  };
  for (const std::string& path : decided_.paths_of(is_empty)) {
    static_cast<void>(prepare({.kind = operation_kind::remove, .path = path}, 0));
  }
}

}  // namespace holdfast::sim
