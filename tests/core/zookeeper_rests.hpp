#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/zookeeper_tree.hpp"
#include "stores/zookeeper/protocol/mark.hpp"

namespace holdfast::zookeeper {

/// One name, its claims, and the marks that holds have left.
class zookeeper_rests : public zookeeper_contention {
 protected:
  zookeeper_rests() {
    wire_.create("/stock", 0, operation::made::container);
    // What is shown is counted by the client's clock.
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    wire_.now_ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  }

  void claim(std::size_t number, duration grace, bool may_rest) {
    tickets::request r;
    r.kind = tickets::task::acquire;
    r.name = "stock";
    r.owner = owner(number);
    r.capacity = capacity_;
    r.weight = wants_ == role::reader ? 1 : store::full_capacity;
    if (wants_ == role::lease) r.weight = weight_;
    r.shareable = wants_ != role::mutex;
    r.ttl = 30s + grace;
    r.grace = grace;
    r.may_rest = may_rest;
    r.wait = waits_;
    r.metadata = metadata_;
    session_.send(r, [this, number](outcome o) { got_[number] = std::move(o); });
  }
  void claim_served(std::size_t number, duration grace, bool may_rest) {
    claim(number, grace, may_rest);
    wire_.serve(session_);
  }
  /// A release before its least time.
  void leave_resting(std::size_t number, duration left) {
    tickets::request r;
    r.kind = tickets::task::renew;
    r.is_last = true;
    r.batch.push_back({"stock", owner(number), fencing_token{1}, left});
    session_.send(r, [this](outcome o) { renewed_ = std::move(o); });
  }
  /// The first renewal watches the nodes of a hold.
  void watch_own(std::size_t number) {
    tickets::request r;
    r.kind = tickets::task::renew;
    r.batch.push_back({"stock", owner(number), fencing_token{1}, 30s});
    session_.send(r, [](const outcome&) {});
    wire_.serve(session_);
  }
  /// The leader's clock goes on with time.
  void let_pass(std::chrono::milliseconds length) {
    for (auto passed = 0ms; passed < length; passed += 50ms) {
      wire_.now_ms += 50;
      pass(50ms);
    }
  }
  /// The session of the holder ends. Here one session has all claims, so only its node goes.
  void holder_dies(std::size_t number) {
    const std::string node = node_of(number, "/stock");
    wire_.remove(node);
    session_.expired();
    wire_.lose_all();
    wire_.begin_session(other_session);
    session_.connected(other_session, 10s, time_.now());
  }
  [[nodiscard]] std::size_t marks() const {
    const auto found = wire_.all.find("/stock/rests%");
    return found == wire_.all.end() ? 0 : found->second.children.size();
  }
  [[nodiscard]] bool is_refused(std::size_t number) const {
    const auto* r = std::get_if<tickets::reply>(&got_.at(number));
    return r != nullptr && std::holds_alternative<tickets::refused>(*r);
  }
  [[nodiscard]] lock_state inspect() {
    outcome seen;
    begin_to_inspect(seen);
    wire_.serve(session_);
    return state_in(seen);
  }
  void begin_to_inspect(outcome& seen) {
    tickets::request r;
    r.kind = tickets::task::inspect;
    r.name = "stock";
    session_.send(r, [&seen](outcome o) { seen = std::move(o); });
  }
  [[nodiscard]] static lock_state state_in(const outcome& seen) {
    return std::get<std::optional<lock_state>>(std::get<tickets::reply>(seen)).value();
  }
  std::size_t force_release() {
    tickets::request r;
    r.kind = tickets::task::force_release;
    r.name = "stock";
    outcome ended;
    session_.send(r, [&](outcome o) { ended = std::move(o); });
    wire_.serve(session_);
    return std::get<tickets::count>(std::get<tickets::reply>(ended)).value;
  }
  /// A mark that somebody has left, whose rest has begun.
  std::string leave_mark(std::size_t number, mode of, duration length) {
    if (!wire_.all.contains("/stock/rests%")) wire_.create("/stock/rests%", 0, operation::made::container);
    const std::string path = mark_path("/stock", owner(number));
    wire_.create(path, 0, operation::made::persistent);
    wire_.all[path].data = to_text({of, of == mode::permits ? 1 : 0, length, true, fencing_token{3}, {}});
    return path;
  }
  std::vector<std::string> make_leases_of_others(std::size_t count) {
    std::vector<std::string> all;
    while (all.size() < count)
      all.push_back(wire_.create("/stock/leases/_c_7d0a1b9e-5b5f-4f0e-8d7b-3a5f6f1d2c3b-lease-", 99,
                                 operation::made::sequential));
    return all;
  }
  [[nodiscard]] std::size_t requests() const {
    std::size_t all = 0;
    for (const auto& [kind, count] : wire_.counts) all += count;
    return all;
  }
  void want_permits(std::int64_t weight, std::int64_t capacity) {
    wants_ = role::lease;
    weight_ = weight;
    capacity_ = capacity;
  }
  [[nodiscard]] std::size_t leases() const {
    const auto found = wire_.all.find("/stock/leases");
    return found == wire_.all.end() ? 0 : found->second.children.size();
  }

  std::int64_t weight_ = 1;  // of permits
  std::shared_ptr<const std::string> metadata_;
  std::int64_t capacity_ = store::full_capacity;
};

}  // namespace holdfast::zookeeper
