// Many claims of one session: what is asked and watched grows with them, and not with their square.

#include <algorithm>
#include <array>
#include <cstdio>
#include <deque>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/virtual_time.hpp"
#include "stores/zookeeper/protocol/session.hpp"
#include "stores/zookeeper/protocol/watch_table.hpp"

namespace holdfast::zookeeper {
namespace {

using namespace std::chrono_literals;
using kind = operation_kind;

constexpr std::int64_t session_id = 7;
constexpr std::int64_t other_session = 8;

std::string parent(const std::string& path) {
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
    std::set<std::string> children;
  };

  void submit(operation step, on_result done) override {
    open_.emplace_back(std::move(step), std::move(done));
    if (open_.back().first.kind == kind::create) most_creations = std::max(most_creations, ++creations_);
    if (open_.back().first.kind == kind::list) most_lists = std::max(most_lists, ++lists_open_);
    if (open_.back().first.kind == kind::get) most_gets = std::max(most_gets, ++gets_open_);
  }
  void serve(session& to) {
    while (!open_.empty()) serve_next(to);
  }
  /// Until that is what it carries out next.
  void serve_until(session& to, const std::string& path) {
    while (open_.at(0).first.kind != kind::get || open_.at(0).first.path != path) serve_next(to);
  }
  void serve_next(session& to) {
    const auto [step, done] = std::move(open_.front());
    open_.pop_front();
    if (step.kind == kind::create) --creations_;
    if (step.kind == kind::list) --lists_open_;
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
  }
  void begin_session(std::int64_t id) { session_ = id; }
  std::string create(const std::string& path, std::int64_t by, operation::made how) {
    node& above = all.at(parent(path));
    std::string made = path;
    if (how == operation::made::sequential) {
      std::array<char, 16> digits{};
      std::snprintf(digits.data(), digits.size(), "%010d", above.next);
      made += digits.data();
    }
    ++above.next;
    above.children.insert(made.substr(made.rfind('/') + 1));
    node& n = all[made];
    n.session = how == operation::made::container ? 0 : by;
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
  std::map<kind, std::size_t> counts;
  std::size_t most_creations = 0;
  std::size_t most_lists = 0;
  std::size_t most_gets = 0;

 private:
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
        return r;
      case kind::sync:
      case kind::agree: return r;
      case kind::unwatch: watched.erase(o.path); return r;
      default: break;
    }
    if (found == all.end()) return {.code = answer::no_node, .path = o.path};
    const node& n = found->second;
    r.about = {.created = n.created, .session = n.session};
    if (o.kind == kind::remove) {
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
  std::int64_t last_ = 0;
};

class zookeeper_crowd : public testing::Test {
 protected:
  using outcome = tickets::link::outcome;

  zookeeper_crowd() {
    session_.connected(session_id, 10s, time_.now());
    session_.on_notices([this](const owner_id& owner, store::noticed n) { told_[owner].push_back(n.kind); });
  }

  static owner_id owner(std::size_t number) {
    owner_id::bytes_type bytes{};
    bytes[15] = static_cast<std::uint8_t>(number);
    bytes[14] = static_cast<std::uint8_t>(number >> 8U);
    bytes[13] = 1;
    return owner_id{bytes};
  }
  void send(tickets::task what, std::size_t number, const std::string& name) {
    tickets::request r;
    r.kind = what;
    r.name = name;
    r.owner = owner(number);
    r.capacity = store::whole_room;
    r.weight = wants_ == role::reader ? 1 : store::whole_room;
    r.ttl = 30s;
    r.wait = waits_;
    r.shareable = wants_ != role::mutex;
    session_.send(r, [this, number](outcome o) { got_[number] = std::move(o); });
  }
  void acquire(std::size_t number, const std::string& name) { send(tickets::task::acquire, number, name); }
  [[nodiscard]] bool is_granted(std::size_t number) const {
    const auto told = told_.find(owner(number));
    if (told != told_.end() && told->second.back() == store::notice::granted) return true;
    const auto* r = std::get_if<tickets::reply>(&got_.at(number));
    const auto* p = r == nullptr ? nullptr : std::get_if<tickets::place>(r);
    return p != nullptr && p->granted;
  }
  void renew(std::size_t count, const std::string& name) {
    tickets::request r;
    r.kind = tickets::task::renew;
    for (std::size_t i = 0; i < count; ++i) {
      r.batch.push_back({name + std::to_string(i), owner(i), fencing_token{1}, 30s});
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
  std::map<owner_id, std::vector<store::notice>> told_;
  std::optional<outcome> renewed_;
};

TEST_F(zookeeper_crowd, that_comes_at_once_shares_listings) {
  constexpr std::size_t count = 2000;
  wire_.create("/stock", 0, operation::made::container);
  for (std::size_t i = 0; i < count; ++i) acquire(i, "stock");
  wire_.serve(session_);
  EXPECT_TRUE(is_granted(0));
  EXPECT_EQ(wire_.all.at("/stock").children.size(), count);
  EXPECT_LE(wire_.most_creations, 300U) << "all creations are in flight at once";
  EXPECT_LE(wire_.most_lists, 1U);
  EXPECT_LE(wire_.counts[kind::list], count / 50) << "each claim lists the others";
  EXPECT_LE(wire_.counts[kind::get], count + 1)
      << "a waiter watches its own node, which the next one relies on";
}

TEST_F(zookeeper_crowd, is_served_one_by_one_without_a_listing) {
  constexpr std::size_t count = 300;
  wire_.create("/stock", 0, operation::made::container);
  for (std::size_t i = 0; i < count; ++i) acquire(i, "stock");
  wire_.serve(session_);
  wire_.counts.clear();
  for (std::size_t i = 0; i + 1 < count; ++i) {
    ASSERT_TRUE(is_granted(i)) << i;
    EXPECT_FALSE(is_granted(i + 1)) << i;
    send(tickets::task::release, i, "stock");
    wire_.serve(session_);
  }
  EXPECT_TRUE(is_granted(count - 1));
  EXPECT_EQ(wire_.counts[kind::list], 0U);
}

TEST_F(zookeeper_crowd, of_writers_is_served_without_a_listing_too) {
  constexpr std::size_t count = 100;
  wants_ = role::writer;
  for (std::size_t i = 0; i < count; ++i) acquire(i, "stock");
  wire_.serve(session_);
  wire_.counts.clear();
  for (std::size_t i = 0; i + 1 < count; ++i) {
    ASSERT_TRUE(is_granted(i)) << i;
    // Every other one reads on, and has to be waited for all the same.
    if (i % 2 == 0) {
      send(tickets::task::downgrade, i, "stock");
      wire_.serve(session_);
      EXPECT_FALSE(is_granted(i + 1)) << i << " reads";
    }
    send(tickets::task::release, i, "stock");
    wire_.serve(session_);
  }
  EXPECT_TRUE(is_granted(count - 1));
  EXPECT_EQ(wire_.counts[kind::list], 0U);
}

TEST_F(zookeeper_crowd, that_gives_up_before_it_was_sent_asks_nothing) {
  wire_.create("/stock", 0, operation::made::container);
  for (std::size_t i = 0; i < 1000; ++i) acquire(i, "stock");
  const std::size_t sent = wire_.most_creations;
  for (std::size_t i = 0; i < 1000; ++i) send(tickets::task::withdraw, i, "stock");
  wire_.serve(session_);
  pass(100ms);
  EXPECT_TRUE(wire_.all.at("/stock").children.empty());
  EXPECT_LE(wire_.counts[kind::list], 2 * sent + 2);
  EXPECT_LE(wire_.counts[kind::create], sent);
}

// What is in flight when a session ends may get no answer at all. The next session does not wait for it.
TEST_F(zookeeper_crowd, comes_in_the_next_session_though_the_former_one_did_not_answer) {
  wire_.create("/stock", 0, operation::made::container);
  for (std::size_t i = 0; i < 300; ++i) acquire(i, "stock");
  wire_.lose_all();
  session_.expired();
  pass(100ms);
  session_.connected(other_session, 10s, time_.now());
  wire_.begin_session(other_session);
  for (std::size_t i = 1000; i < 1300; ++i) acquire(i, "stock");
  wire_.serve(session_);
  EXPECT_TRUE(is_granted(1000));
  EXPECT_EQ(wire_.all.at("/stock").children.size(), 300U);
}

// The C client sets all watches again in one packet, which the servers refuse from 1 MiB on.
TEST_F(zookeeper_crowd, watches_no_more_than_a_packet_can_set_again) {
  constexpr std::size_t count = 2500;
  const std::string name(440, 'n');
  for (std::size_t i = 0; i < count; ++i) acquire(i, name + std::to_string(i));
  wire_.serve(session_);
  renew(count, name);
  EXPECT_EQ(kept(), std::vector<bool>(count, true));
  EXPECT_LT(wire_.watched_bytes(), watch_table::most);
  EXPECT_GT(wire_.watched_bytes(), watch_table::most_with_own / 2);
  // Those that are not watched are looked at with each renewal.
  const std::string last = "/" + name + std::to_string(count - 1);
  ASSERT_FALSE(wire_.watched.contains(node_of(0, last)));
  wire_.remove(node_of(0, last), session_);
  EXPECT_TRUE(told_.empty());
  renew(count, name);
  EXPECT_FALSE(kept().back());
  EXPECT_EQ(told_[owner(count - 1)], std::vector{store::notice::revoked});
}

TEST_F(zookeeper_crowd, waits_without_watches_where_there_is_no_room) {
  constexpr std::size_t count = 2500;
  const std::string name(440, 'n');
  // Behind others, all of them.
  for (std::size_t i = 0; i < count; ++i) {
    const std::string path = "/" + name + std::to_string(i);
    wire_.create(path, 0, operation::made::container);
    wire_.create(path + "/_c_00000000-0000-4000-8000-000000000000-lock-", other_session,
                 operation::made::sequential);
    acquire(i, name + std::to_string(i));
  }
  wire_.serve(session_);
  EXPECT_LT(wire_.watched_bytes(), watch_table::most);
  const std::string last = "/" + name + std::to_string(count - 1);
  ASSERT_FALSE(wire_.watched.contains(node_of(0, last)));
  wire_.remove(node_of(0, last), session_);
  pass(10s);
  EXPECT_TRUE(is_granted(count - 1)) << "nobody looked";
  // An operator has removed its own node: it does not come in with nothing.
  const std::string before = "/" + name + std::to_string(count - 2);
  ASSERT_FALSE(wire_.watched.contains(node_of(1, before)));
  wire_.remove(node_of(1, before), session_);
  wire_.remove(node_of(0, before), session_);
  pass(10s);
  EXPECT_EQ(told_[owner(count - 2)], std::vector{store::notice::revoked});
  EXPECT_FALSE(is_granted(count - 3));
  EXPECT_LT(wire_.watched_bytes(), watch_table::most);
}

TEST_F(zookeeper_crowd, goes_on_looking_over_a_new_connection) {
  constexpr std::size_t count = 2500;
  const std::string name(440, 'n');
  for (std::size_t i = 0; i < count; ++i) {
    const std::string path = "/" + name + std::to_string(i);
    wire_.create(path, 0, operation::made::container);
    wire_.create(path + "/_c_00000000-0000-4000-8000-000000000000-lock-", other_session,
                 operation::made::sequential);
    acquire(i, name + std::to_string(i));
  }
  wire_.serve(session_);
  session_.disconnected();
  time_.run_for(10s);
  session_.connected(session_id, 10s, time_.now());
  wire_.serve(session_);
  wire_.remove(node_of(0, "/" + name + std::to_string(count - 1)), session_);
  pass(10s);
  EXPECT_TRUE(is_granted(count - 1));
}

// Several readers wait for one writer, and one watch serves them all. The reader that has asked for it may
// give up, and the others need the answer.
class zookeeper_readers : public zookeeper_crowd {
 protected:
  /// Readers 1 and 2 wait behind a writer. The watch that reader 1 has asked for, for both, is not answered
  /// yet.
  zookeeper_readers() {
    wire_.create("/stock", 0, operation::made::container);
    writer_ = wire_.create("/stock/_c_00000000-0000-4000-8000-000000000000-__WRIT__", other_session,
                           operation::made::sequential);
    wants_ = role::reader;
    waits_ = false;
    acquire(0, "stock");  // whose listing is under way while the others come, who share the next one
    waits_ = true;
    acquire(1, "stock");
    acquire(2, "stock");
    wire_.serve_until(session_, writer_);
  }
  void give_up() { send(tickets::task::withdraw, 1, "stock"); }
  void expect_grant_when_the_writer_goes() {
    pass(1s);
    EXPECT_FALSE(is_granted(2));
    wire_.remove(writer_, session_);
    pass(1s);
    EXPECT_TRUE(is_granted(2));
  }

  std::string writer_;
};

TEST_F(zookeeper_readers, hear_that_the_writer_has_gone_before_it_was_watched) {
  give_up();
  wire_.remove(writer_);
  wire_.serve(session_);
  EXPECT_TRUE(is_granted(2));
}

TEST_F(zookeeper_readers, hear_that_the_watch_is_refused_to_one_who_has_given_up) {
  give_up();
  wire_.unreadable.insert(writer_);
  wire_.serve(session_);
  expect_grant_when_the_writer_goes();
}

TEST_F(zookeeper_readers, hear_that_the_watch_is_refused_to_one_who_gives_up_later) {
  wire_.unreadable.insert(writer_);
  wire_.serve(session_);
  give_up();
  wire_.serve(session_);
  expect_grant_when_the_writer_goes();
}

// A node may be asked about by everybody, and read by those who have the right.
TEST_F(zookeeper_crowd, waits_behind_a_node_that_may_not_be_read) {
  wire_.create("/stock", 0, operation::made::container);
  const auto ahead = wire_.create("/stock/_c_00000000-0000-4000-8000-000000000000-lock-", other_session,
                                  operation::made::sequential);
  wire_.unreadable.insert(ahead);
  acquire(1, "stock");
  wire_.serve(session_);
  acquire(2, "stock");
  wire_.serve(session_);
  pass(1s);
  EXPECT_FALSE(is_granted(1));
  wire_.remove(ahead, session_);
  pass(1s);
  EXPECT_TRUE(is_granted(1));
  EXPECT_FALSE(is_granted(2));
}

TEST_F(zookeeper_crowd, notices_the_end_of_its_own_node_that_it_may_not_read) {
  acquire(0, "stock0");
  wire_.serve(session_);
  const auto own = node_of(0, "/stock0");
  wire_.unreadable.insert(own);
  renew(1, "stock");
  EXPECT_EQ(kept(), std::vector{true});
  wire_.remove(own, session_);
  renew(1, "stock");
  EXPECT_EQ(kept(), std::vector{false});
  EXPECT_EQ(told_[owner(0)], std::vector{store::notice::revoked});
}

TEST_F(zookeeper_crowd, waits_behind_a_node_of_its_own_that_may_not_be_read) {
  wire_.reads_own = false;
  for (std::size_t i = 0; i < 4; ++i) acquire(i, "stock");
  wire_.serve(session_);
  for (std::size_t i = 0; i < 4; ++i) {
    pass(1s);
    ASSERT_TRUE(is_granted(i)) << i;
    for (std::size_t later = i + 1; later < 4; ++later) EXPECT_FALSE(is_granted(later)) << i;
    wire_.remove(node_of(i, "/stock"), session_);
    send(tickets::task::release, i, "stock");
    wire_.serve(session_);
  }
}

TEST_F(zookeeper_crowd, leaves_nothing_where_it_may_not_list) {
  wire_.create("/stock", 0, operation::made::container);
  wire_.unreadable.insert("/stock");
  acquire(1, "stock");
  wire_.serve(session_);
  const auto* failed = std::get_if<store::trouble>(&got_.at(1));
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->reason.code, errc::permission_denied);
  EXPECT_FALSE(failed->unknown);
  EXPECT_TRUE(wire_.all.at("/stock").children.empty());
}

// Curator's Revoker writes into the node of a holder, to ask it to release.
TEST_F(zookeeper_crowd, takes_its_nodes_for_its_own_whatever_others_have_written_there) {
  acquire(0, "stock");
  wire_.serve(session_);
  wire_.all.at(node_of(0, "/stock")).data = "__REVOKE__";
  send(tickets::task::evict, 9, "stock");
  wire_.serve(session_);
  const auto* r = std::get_if<tickets::reply>(&got_.at(9));
  ASSERT_TRUE(r);
  EXPECT_EQ(std::get<tickets::count>(*r).value, 1U);
  // Java's are left alone.
  wire_.create("/stock/_c_00000000-0000-4000-8000-000000000000-lock-", other_session,
               operation::made::sequential);
  send(tickets::task::evict, 9, "stock");
  wire_.serve(session_);
  EXPECT_TRUE(std::holds_alternative<store::trouble>(got_.at(9)));
}

TEST_F(zookeeper_crowd, is_inspected_no_further_than_was_asked_for) {
  for (std::size_t i = 0; i < 1000; ++i) acquire(i, "stock");
  wire_.serve(session_);
  for (const std::size_t most : {std::size_t{0}, std::size_t{10}, std::size_t{1000}}) {
    wire_.counts.clear();
    wire_.most_gets = 0;
    tickets::request r;
    r.kind = tickets::task::inspect;
    r.name = "stock";
    r.waiters_read = most;
    std::optional<outcome> seen;
    session_.send(r, [&](outcome o) { seen = std::move(o); });
    wire_.serve(session_);
    const auto& state = std::get<std::optional<lock_state>>(std::get<tickets::reply>(*seen));
    EXPECT_EQ(state->holders.size(), 1U);
    EXPECT_EQ(state->waiters.size(), std::min<std::size_t>(most, 999));
    EXPECT_LE(wire_.counts[kind::get], most + 3);
    EXPECT_LE(wire_.most_gets, 300U);
  }
}

TEST_F(zookeeper_crowd, of_names_is_listed_some_at_a_time) {
  for (std::size_t i = 0; i < 1000; ++i) acquire(i, "shelves/" + std::to_string(i));
  wire_.serve(session_);
  wire_.most_lists = 0;
  tickets::request r;
  r.kind = tickets::task::list;
  std::optional<outcome> seen;
  session_.send(r, [&](outcome o) { seen = std::move(o); });
  wire_.serve(session_);
  EXPECT_EQ(std::get<std::vector<lock_summary>>(std::get<tickets::reply>(*seen)).size(), 1000U);
  EXPECT_LE(wire_.most_lists, 64U * 3);
}

}  // namespace
}  // namespace holdfast::zookeeper
