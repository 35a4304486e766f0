// SPDX-License-Identifier: Apache-2.0
// What a session asks the servers, and what it makes of their answers, step by step.

#include <deque>
#include <gtest/gtest.h>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/virtual_time.hpp"
#include "stores/zookeeper/protocol/note.hpp"
#include "stores/zookeeper/protocol/session.hpp"
#include "support/request_form.hpp"

namespace holdfast::zookeeper {
namespace {

using namespace std::chrono_literals;
using kind = operation_kind;

constexpr std::int64_t session_id = 7;

/// Keeps what is submitted until the test answers it; what the leader alone is asked, it answers by itself.
class scripted_wire final : public wire {
 public:
  void submit(operation step, on_result done) override {
    open_.emplace_back(std::move(step), std::move(done));
  }
  [[nodiscard]] std::vector<kind> kinds() {
    skip_syncs();
    std::vector<kind> all;
    for (const auto& [step, done] : open_) all.push_back(step.kind);
    return all;
  }
  [[nodiscard]] const operation& next() {
    skip_syncs();
    return open_.at(0).first;
  }
  void answer_next(result r) {
    skip_syncs();
    answer_first(std::move(r));
  }
  void answer_next(answer code) {
    answer_next({.code = code, .reason = {errc::unavailable, "the server said so"}});
  }

 private:
  void skip_syncs() {
    while (!open_.empty() && open_.front().first.kind == kind::sync) answer_first({.code = answer::done});
  }
  void answer_first(result r) {
    const auto [step, done] = std::move(open_.at(0));
    open_.pop_front();
    if (r.path.empty()) r.path = step.path;
    done(std::move(r));
  }

  std::deque<std::pair<operation, on_result>> open_;
};

/// Of one client with one claim.
class zookeeper_session : public testing::Test {
 protected:
  using outcome = tickets::link::outcome;

  zookeeper_session() {
    session_.connected(session_id, 10s, time_.now());
    session_.on_notifications([](const store::notification&) {});
  }

  void ask(test::task task) {
    got_.reset();
    test::request_form r;
    r.kind = task;
    r.name = "stock";
    r.owner = owner_id{{1, 2, 3}};
    r.weight = permits_ == 0 ? store::full_capacity : permits_;
    r.capacity = permits_ == 0 ? store::full_capacity : 10;
    r.shareable = true;
    r.ttl = 30s;
    r.wait = true;
    session_.send(r, [this](outcome o) { got_ = std::move(o); });
  }
  /// The answer to the creation of a node that gets a number.
  void created(std::int32_t number, std::int64_t as) {
    std::string digits = std::to_string(number);
    digits.insert(0, 10 - digits.size(), '0');
    result r{.code = answer::done, .path = wire_.next().path + digits};
    r.about = {.created = as, .session = session_id};
    nodes_.push_back(last_part(r.path));
    wire_.answer_next(std::move(r));
  }
  void listed() {
    const auto children = nodes_;
    wire_.answer_next({.code = answer::done, .children = children});
  }
  template <class Reply>
  [[nodiscard]] const Reply* got() const {
    const auto* const r = got_ ? std::get_if<tickets::reply>(&*got_) : nullptr;
    return r == nullptr ? nullptr : std::get_if<Reply>(r);
  }
  static std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

  std::int64_t permits_ = 0;
  test::virtual_time time_;
  scripted_wire wire_;
  session session_{time_, wire_, {}};
  std::optional<outcome> got_;
  std::vector<std::string> nodes_;
};

class zookeeper_survey : public zookeeper_session {
 protected:
  /// Nobody has locked the name.
  void answer_reads() {
    while (!wire_.kinds().empty()) wire_.answer_next(answer::no_node);
  }
};

TEST_F(zookeeper_survey, reads_only_after_the_servers_have_agreed) {
  for (const test::task task : {test::task::inspect, test::task::force_release, test::task::list}) {
    ask(task);
    ASSERT_EQ(wire_.kinds(), std::vector{kind::agree});
    wire_.answer_next(answer::done);
    EXPECT_FALSE(got_) << "it has not read anything yet";
    EXPECT_EQ(wire_.next().kind, kind::get);
    answer_reads();
    EXPECT_TRUE(got_ && std::holds_alternative<tickets::reply>(*got_));
  }
}

TEST_F(zookeeper_survey, does_not_need_the_right_to_read_what_they_agree_at) {
  ask(test::task::inspect);
  wire_.answer_next(answer::refused);
  answer_reads();
  EXPECT_TRUE(got_ && std::holds_alternative<tickets::reply>(*got_));
}

TEST_F(zookeeper_survey, tells_nothing_where_they_have_not_agreed) {
  for (const answer code : {answer::unknown, answer::not_sent, answer::other}) {
    ask(test::task::inspect);
    wire_.answer_next(code);
    EXPECT_TRUE(wire_.kinds().empty());
    EXPECT_TRUE(got_ && std::holds_alternative<store::request_error>(*got_));
  }
}

// Whoever then looks misses nothing: what comes later is told.
TEST_F(zookeeper_survey, tells_of_changes_once_those_to_come_will_be_told) {
  int count = 0;
  session_.watch(std::nullopt, [&] { ++count; });
  ASSERT_EQ(wire_.next().path, "/");
  wire_.answer_next({.code = answer::done, .children = {"stock"}});
  const int of_names = count;
  ASSERT_EQ(wire_.next().path, "/stock");
  wire_.answer_next({.code = answer::done});
  EXPECT_GT(count, of_names) << "what happened to it before it was watched";
  const int of_claims = count;
  session_.happened("/stock", change::children);
  ASSERT_EQ(wire_.next().path, "/stock");
  wire_.answer_next({.code = answer::done});
  EXPECT_GT(count, of_claims);
  EXPECT_TRUE(wire_.kinds().empty());
}

TEST_F(zookeeper_survey, tells_of_changes_among_a_thousand_claims_once_a_second) {
  int count = 0;
  session_.watch("stock", [&] { ++count; });
  const std::vector<std::string> crowd(1001, "_c_00000000-0000-4000-8000-000000000000-lock-0000000001");
  wire_.answer_next({.code = answer::done, .children = crowd});
  session_.happened("/stock", change::children);
  session_.happened("/stock", change::children);
  EXPECT_TRUE(wire_.kinds().empty());
  time_.run_for(1s);
  ASSERT_EQ(wire_.kinds(), std::vector{kind::list});
  EXPECT_EQ(count, 1);
  wire_.answer_next(answer::done);
  EXPECT_EQ(count, 2);
}

/// A session that has been connected before, and loses its connection.
class zookeeper_reconnect : public zookeeper_session {
 protected:
  zookeeper_reconnect() {
    before_ = session_.session_until();
    time_.run_for(1s);
    session_.disconnected();
    began_ = time_.now();
    time_.run_for(1s);
    session_.connected(session_id, 10s, began_);
  }
  [[nodiscard]] std::optional<store::time_point> proven() const { return began_ + 10s - 100ms - 2ms; }

  std::optional<store::time_point> before_;
  store::time_point began_;
};

// A leader that does not know yet that it is none any more lets clients in by its own table of sessions.
TEST_F(zookeeper_reconnect, proves_nothing_before_the_servers_have_voted) {
  ASSERT_EQ(wire_.kinds(), std::vector{kind::agree});
  EXPECT_EQ(session_.session_until(), before_);
  wire_.answer_next(answer::done);
  EXPECT_EQ(session_.session_until(), proven());
}

TEST_F(zookeeper_reconnect, is_proven_by_a_refusal_which_is_voted_on_too) {
  wire_.answer_next(answer::refused);
  EXPECT_EQ(session_.session_until(), proven());
}

TEST_F(zookeeper_reconnect, is_tried_again_where_the_vote_did_not_come_about) {
  wire_.answer_next(answer::not_sent);
  EXPECT_EQ(session_.session_until(), before_);
  ASSERT_TRUE(wire_.kinds().empty());
  time_.run_for(3s);
  ASSERT_EQ(wire_.kinds(), std::vector{kind::agree});
  wire_.answer_next(answer::done);
  EXPECT_EQ(session_.session_until(), proven());
}

TEST_F(zookeeper_reconnect, is_not_proven_by_a_vote_that_an_earlier_connection_asked_for) {
  session_.disconnected();
  session_.connected(session_id, 10s, time_.now());
  wire_.answer_next(answer::done);  // to the first one's question
  EXPECT_EQ(session_.session_until(), before_);
}

/// One whose claim was sent, and not answered.
class zookeeper_lost_reply : public zookeeper_session {
 protected:
  zookeeper_lost_reply() {
    ask(test::task::acquire);
    node_ = last_part(wire_.next().path) + "0000000004";
    wire_.answer_next(answer::unknown);
    wire_.answer_next(answer::unknown);
  }
  void node_listed() { wire_.answer_next({.code = answer::done, .children = {node_}}); }

  std::string node_;
};

// A leader that was deposed and does not know it answers a `sync` by itself, and lists what was there before.
// The claim was then made once more, behind a node of its own that nobody knew.
TEST_F(zookeeper_lost_reply, looks_for_its_node_after_a_vote) {
  ask(test::task::find);
  ASSERT_EQ(wire_.kinds(), (std::vector{kind::agree, kind::list}));
  wire_.answer_next(answer::done);
  node_listed();
  ASSERT_EQ(wire_.next().path, "/stock/" + node_);
  wire_.answer_next({.code = answer::done, .about = {.created = 100, .session = session_id}});
  ASSERT_TRUE(got<tickets::place>());
  EXPECT_TRUE(got<tickets::place>()->granted);
}

TEST_F(zookeeper_lost_reply, takes_nothing_for_known_where_the_vote_did_not_come_about) {
  ask(test::task::find);
  wire_.answer_next(answer::other);
  wire_.answer_next({.code = answer::done, .children = {}});
  EXPECT_TRUE(got_ && std::holds_alternative<store::request_error>(*got_));
}

TEST_F(zookeeper_lost_reply, leaves_no_node_behind_that_a_vote_may_bring_to_light) {
  ask(test::task::withdraw);
  ASSERT_EQ(wire_.kinds(), (std::vector{kind::agree, kind::list}));
  wire_.answer_next(answer::refused);  // which is voted on, too
  node_listed();
  ASSERT_EQ(wire_.kinds(), std::vector{kind::remove});
  EXPECT_EQ(wire_.next().path, "/stock/" + node_);
}

class zookeeper_downgrade : public zookeeper_session {
 protected:
  zookeeper_downgrade() {
    ask(test::task::acquire);
    created(4, 100);
    listed();
  }
};

TEST_F(zookeeper_downgrade, puts_a_reader_in_the_writers_place_in_one_step) {
  ASSERT_TRUE(got<tickets::place>()->granted);
  ask(test::task::downgrade);
  ASSERT_EQ(wire_.kinds(), std::vector{kind::replace});
  EXPECT_EQ(wire_.next().former, "/stock/" + nodes_.front());
  EXPECT_TRUE(wire_.next().path.ends_with("-__READ__0000000004")) << wire_.next().path;
  wire_.answer_next(answer::done);
  EXPECT_TRUE(got<tickets::done>());
}

TEST_F(zookeeper_downgrade, that_was_carried_out_and_not_answered_is_one) {
  ask(test::task::downgrade);
  wire_.answer_next(answer::unknown);
  ASSERT_TRUE(std::get<store::request_error>(*got_).maybe_executed);
  ask(test::task::downgrade);
  wire_.answer_next(answer::node_exists);
  EXPECT_TRUE(got<tickets::done>());
}

// With two steps, the reader's node of the first try would be there at the second, and be taken for a hold
// that others, who have seen the writer's go, do not know of.
TEST_F(zookeeper_downgrade, of_a_hold_that_somebody_has_ended_meanwhile_is_none) {
  ask(test::task::downgrade);
  wire_.answer_next(answer::unknown);
  ask(test::task::downgrade);
  ASSERT_EQ(wire_.kinds(), std::vector{kind::replace});
  wire_.answer_next(answer::no_node);
  EXPECT_TRUE(got<tickets::nothing>());
  EXPECT_TRUE(wire_.kinds().empty());
  ask(test::task::downgrade);
  time_.run_for(1ms);
  EXPECT_TRUE(got<tickets::nothing>());
}

TEST_F(zookeeper_downgrade, that_is_refused_leaves_a_writer_whose_end_is_noticed) {
  ask(test::task::downgrade);
  wire_.answer_next(answer::refused);
  EXPECT_EQ(std::get<store::request_error>(*got_).reason.code, errc::permission_denied);
  std::vector<store::notification_kind> received;
  session_.on_notifications([&](const store::notification& n) { received.push_back(n.kind); });
  session_.happened("/stock/" + nodes_.front(), change::removed);
  EXPECT_EQ(received, std::vector{store::notification_kind::revoked});
}

TEST_F(zookeeper_session, has_leases_numbered_anew_when_their_numbers_have_come_to_their_end) {
  permits_ = 2;
  ask(test::task::acquire);
  created(0, 100);
  listed();
  wire_.answer_next({.code = answer::done, .children = {"leases", "locks"}});
  ASSERT_EQ(wire_.kinds(), (std::vector{kind::create, kind::create, kind::list, kind::get}));
  nodes_.clear();
  created(std::numeric_limits<std::int32_t>::max(), 101);
  wire_.answer_next(answer::node_exists);  // the same name, with the same number
  listed();
  wire_.answer_next(answer::done);
  // Its place in the queue and the lease that it has go; then the parent, if nobody else has one.
  ASSERT_EQ(wire_.kinds(), (std::vector{kind::agree, kind::list, kind::list}));
  wire_.answer_next(answer::done);
  wire_.answer_next(answer::no_node);
  listed();
  ASSERT_EQ(wire_.kinds(), (std::vector{kind::remove, kind::remove}));
  EXPECT_EQ(wire_.next().path, "/stock/leases/" + nodes_.front());
  wire_.answer_next(answer::done);
  EXPECT_EQ(wire_.next().path, "/stock/leases");
  const auto& reason = std::get<store::request_error>(*got_);
  EXPECT_TRUE(reason.retryable);
  EXPECT_FALSE(reason.maybe_executed);
}

// Whoever waits for permits watches the leases of a name, and so does whoever watches the client's locks.
class zookeeper_shared_watch : public zookeeper_session {
 protected:
  /// A claim that waits for a permit, of which others have all.
  void wait_for_a_permit() {
    permits_ = 1;
    ask(test::task::acquire);
    created(0, 100);
    listed();
    wire_.answer_next({.code = answer::done, .children = {"leases", "locks"}});
    created(1, 101);
    const std::vector<std::string> all(11, "lease");
    wire_.answer_next({.code = answer::done, .children = all});
    result agreed{.code = answer::done};
    note n;
    n.capacity = 10;
    agreed.data = to_text(n);
    wire_.answer_next(agreed);
    ASSERT_TRUE(wire_.next().kind == kind::list && wire_.next().watch);
    wire_.answer_next({.code = answer::done, .children = all});
    while (!wire_.kinds().empty()) wire_.answer_next(answer::done);
    ASSERT_TRUE(got<tickets::place>() != nullptr && !got<tickets::place>()->granted);
  }
  /// Whether the watch of the leases is ended when the claim is withdrawn.
  [[nodiscard]] bool ends_watch_of_leases() {
    ask(test::task::withdraw);
    bool ended = false;
    while (!wire_.kinds().empty()) {
      ended = ended || (wire_.next().kind == kind::unwatch && wire_.next().path == "/stock/leases");
      wire_.answer_next(answer::done);
    }
    return ended;
  }
};

TEST_F(zookeeper_shared_watch, is_ended_by_the_last_claim_that_needs_it) {
  wait_for_a_permit();
  EXPECT_TRUE(ends_watch_of_leases());
}

TEST_F(zookeeper_shared_watch, is_not_ended_while_the_locks_are_watched) {
  int changes = 0;
  session_.watch(std::nullopt, [&] { ++changes; });
  wire_.answer_next({.code = answer::done, .children = {"stock"}});
  wire_.answer_next({.code = answer::done, .children = {"leases", "locks"}});
  while (!wire_.kinds().empty()) wire_.answer_next(answer::done);
  wait_for_a_permit();
  EXPECT_FALSE(ends_watch_of_leases());
  const int before = changes;
  session_.happened("/stock/leases", change::children);
  while (!wire_.kinds().empty()) wire_.answer_next(answer::done);
  EXPECT_GT(changes, before);
}

}  // namespace
}  // namespace holdfast::zookeeper
