// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdio>
#include <deque>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/samples.hpp"
#include "core/virtual_time.hpp"
#include "stores/zookeeper/protocol/session.hpp"

namespace holdfast::zookeeper {

using namespace std::chrono_literals;
using kind = operation_kind;

inline constexpr std::int64_t session_id = 7;
inline constexpr std::int64_t other_session = 8;

inline std::string parent(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// A server: it answers what has been sent when the test lets it, in order.
class tree final : public wire {
 public:
  struct node {
    std::string data;
    std::int64_t session = 0;
    std::int64_t created = 0;
    std::int32_t next = 0;
    std::int32_t version = 0;
    std::set<std::string> children;
  };

  void submit(operation step, on_result done) override {
    open_.emplace_back(std::move(step), std::move(done));
    if (open_.back().first.kind == kind::create) most_creations = std::max(most_creations, ++creations_);
    if (open_.back().first.kind == kind::list) most_lists = std::max(most_lists, ++lists_open_);
    if (open_.back().first.kind == kind::get) most_gets = std::max(most_gets, ++gets_open_);
    if (open_.back().first.kind == kind::list)
      most_listed = std::max(most_listed, listed_open_ += child_count(open_.back().first.path));
  }
  void serve(session& to) {
    while (!open_.empty()) serve_next(to);
  }
  /// Until that is what it carries out next.
  void serve_until(session& to, const std::string& path) {
    while (open_.at(0).first.kind != kind::get || open_.at(0).first.path != path) serve_next(to);
  }
  /// What it carries out next.
  [[nodiscard]] operation_kind next() const { return open_.at(0).first.kind; }
  void serve_next(session& to) {
    const auto [step, done] = std::move(open_.front());
    open_.pop_front();
    if (step.kind == kind::create) --creations_;
    if (step.kind == kind::list) --lists_open_;
    if (step.kind == kind::list) listed_open_ -= child_count(step.path);
    if (step.kind == kind::get) --gets_open_;
    ++counts[step.kind];
    result r = carry_out(step);
    for (const std::string& path : std::exchange(removed_, {})) to.happened(path, change::removed);
    done(std::move(r));
  }
  /// Nothing of what was sent arrives, and nobody is answered.
  void lose_all() {
    open_.clear();
    creations_ = lists_open_ = gets_open_ = 0;
    listed_open_ = 0;
  }
  /// The connection broke: nothing of what was sent arrives, and nobody learns that.
  void fail_all() {
    const auto all = std::exchange(open_, {});
    lose_all();
    for (const auto& [step, done] : all) {
      done({.code = answer::unknown, .path = step.path, .reason = {errc::unavailable, "cut"}});
    }
  }
  void begin_session(std::int64_t id) { session_ = id; }
  std::string create(const std::string& path, std::int64_t by, operation::made make) {
    node& above = all.at(parent(path));
    std::string made = path;
    if (make == operation::made::sequential) {
      std::array<char, 16> digits{};
      std::snprintf(digits.data(), digits.size(), "%010d", above.next);
      made += digits.data();
    }
    ++above.next;
    above.children.insert(made.substr(made.rfind('/') + 1));
    node& n = all[made];
    n.session = make == operation::made::container ? 0 : by;
    n.created = ++last_;
    return made;
  }
  /// By an operator, or another client.
  void remove(const std::string& path) {
    all.erase(path);
    all.at(parent(path)).children.erase(path.substr(path.rfind('/') + 1));
    if (watched.erase(path) != 0) removed_.push_back(path);
  }
  void remove(const std::string& path, session& of) {
    remove(path);
    for (const std::string& each : std::exchange(removed_, {})) of.happened(each, change::removed);
  }
  [[nodiscard]] std::size_t watched_bytes() const {
    std::size_t bytes = 0;
    for (const std::string& path : watched) bytes += path.size() + 4;
    return bytes;
  }

  std::map<std::string, node> all{{"/", {}}};
  std::set<std::string> watched;
  std::set<std::string> unreadable;
  bool reads_own = true;
  std::function<std::string(std::string)> renames;  // sequential nodes, in the reply to their creation
  std::map<kind, std::size_t> counts;
  std::size_t most_creations = 0;
  std::size_t most_lists = 0;
  std::int32_t most_listed = 0;  // children, by all lists under way
  std::size_t most_gets = 0;

 private:
  [[nodiscard]] std::int32_t child_count(const std::string& path) const {
    const auto found = all.find(path);
    return found == all.end() ? 0 : static_cast<std::int32_t>(found->second.children.size());
  }
  result carry_out(const operation& o) {
    result r{.code = answer::done, .path = o.path};
    const auto found = all.find(o.path);
    switch (o.kind) {
      case kind::replace: remove(o.former); [[fallthrough]];
      case kind::create:
        if (!all.contains(parent(o.path))) return {.code = answer::no_node, .path = o.path};
        if (found != all.end()) return {.code = answer::node_exists, .path = o.path};
        r.path = create(o.path, session_, o.kind == kind::replace ? operation::made::ephemeral : o.make);
        all[r.path].data = o.data;
        r.about = {.created = all[r.path].created, .session = all[r.path].session};
        if (renames && o.make == operation::made::sequential) r.path = renames(r.path);
        return r;
      case kind::sync:
      case kind::agree: return r;
      case kind::unwatch: watched.erase(o.path); return r;
      default: break;
    }
    if (found == all.end()) return {.code = answer::no_node, .path = o.path};
    node& n = found->second;
    if (o.kind == kind::set) {
      n.data = o.data;
      ++n.version;
    }
    r.about = {.created = n.created, .session = n.session, .child_count = child_count(o.path)};
    if (o.kind == kind::set) return r;
    if (o.kind == kind::remove) {
      if (!n.children.empty()) return {.code = answer::not_empty, .path = o.path};
      remove(o.path);
      return r;
    }
    const bool is_refused = unreadable.contains(o.path) || (n.session == session_ && !reads_own);
    if (is_refused && o.kind != kind::exists) {
      r.code = answer::refused;
      r.reason = {errc::unavailable, "an ACL"};
      return r;
    }
    if (o.watch && o.kind == kind::get) watched.insert(o.path);
    if (o.kind == kind::get) r.data = n.data;
    if (o.kind == kind::list) r.children.assign(n.children.begin(), n.children.end());
    return r;
  }

  std::deque<std::pair<operation, on_result>> open_;
  std::int64_t session_ = session_id;
  std::vector<std::string> removed_;
  std::size_t creations_ = 0;
  std::size_t lists_open_ = 0;
  std::size_t gets_open_ = 0;
  std::int32_t listed_open_ = 0;
  std::int64_t last_ = 0;
};

class zookeeper_contention : public testing::Test {
 protected:
  using outcome = tickets::link::outcome;

  zookeeper_contention() {
    session_.connected(session_id, 10s, time_.now());
    session_.on_notifications([this](const store::notification& n) {
      received_[n.owner].push_back(n.kind);
      received_tokens_[n.owner].push_back(n.token);
    });
  }

  static owner_id owner(std::size_t number) {
    owner_id::bytes_type bytes{};
    bytes[15] = static_cast<std::uint8_t>(number);
    bytes[14] = static_cast<std::uint8_t>(number >> 8U);
    bytes[13] = 1;
    return owner_id{bytes};
  }
  void send(test::task task, std::size_t number, const std::string& name) {
    test::request_form r;
    r.kind = task;
    r.name = name;
    r.owner = owner(number);
    r.capacity = store::full_capacity;
    r.weight = wants_ == role::reader ? 1 : store::full_capacity;
    r.ttl = 30s;
    r.wait = waits_;
    r.shareable = wants_ != role::mutex;
    session_.send(r, [this, number](outcome o) { got_[number] = std::move(o); });
  }
  void acquire(std::size_t number, const std::string& name) { send(test::task::acquire, number, name); }
  [[nodiscard]] bool is_granted(std::size_t number) const {
    const auto received = received_.find(owner(number));
    if (received != received_.end() && received->second.back() == store::notification_kind::granted)
      return true;
    const auto* r = std::get_if<tickets::reply>(&got_.at(number));
    const auto* p = r == nullptr ? nullptr : std::get_if<tickets::place>(r);
    return p != nullptr && p->granted;
  }
  void renew(std::size_t count, const std::string& name) {
    test::request_form r;
    r.kind = test::task::renew;
    for (std::size_t i = 0; i < count; ++i) {
      r.holds.push_back({name + std::to_string(i), owner(i), fencing_token{1}, 30s});
    }
    session_.send(r, [this](outcome o) { renewed_ = std::move(o); });
    wire_.serve(session_);
  }
  [[nodiscard]] std::vector<bool> kept() const {
    return std::get<tickets::kept>(std::get<tickets::reply>(*renewed_)).each;
  }
  [[nodiscard]] std::string node_of(std::size_t number, const std::string& path) const {
    const auto& children = wire_.all.at(path).children;
    std::array<char, 16> digits{};
    std::snprintf(digits.data(), digits.size(), "%010zu", number);
    for (const std::string& each : children) {
      if (each.ends_with(digits.data())) return path + '/' + each;
    }
    return {};
  }
  /// Lets time pass, and the server answer, so often.
  void pass(std::chrono::milliseconds length) {
    for (auto passed = 0ms; passed < length; passed += 50ms) {
      time_.run_for(50ms);
      wire_.serve(session_);
    }
  }

  role wants_ = role::mutex;
  bool waits_ = true;
  test::virtual_time time_;
  tree wire_;
  session session_{time_, wire_, {}};
  std::map<std::size_t, outcome> got_;
  std::map<owner_id, std::vector<store::notification_kind>> received_;
  std::map<owner_id, std::vector<fencing_token>> received_tokens_;
  std::optional<outcome> renewed_;
};

}  // namespace holdfast::zookeeper
