// SPDX-License-Identifier: Apache-2.0
// A URL with token_base=N: every token of the store plus N, in each kind of request and reply.

#include "stores/token_base.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/caller.hpp"
#include "core/samples.hpp"
#include "core/scripted_link.hpp"

namespace holdfast::stores {
namespace {

using namespace std::chrono_literals;
using test::form_of;
using test::id;
using test::scripted_link;
using test::task;
using testing::ElementsAre;
using testing::HasSubstr;
using tickets::last_token;

constexpr std::uint64_t base = 1'000'000;

constexpr fencing_token raised(std::uint64_t n) { return fencing_token{base + n}; }

class token_base : public testing::Test {
 protected:
  token_base() {
    auto made = std::make_unique<scripted_link>();
    store_ = made.get();
    link_ = std::make_unique<token_base_link>(std::move(made), base);
    link_->on_notifications([this](const store::notification& n) { notified_.push_back(n); });
  }

  /// The request as the store gets it.
  test::request_form sent(tickets::request request) {
    link_->send(std::move(request), [](const tickets::link::outcome&) {});
    return form_of(store_->request(store_->open() - 1));
  }
  /// The outcome as the client gets it.
  tickets::link::outcome received(tickets::link::outcome from_store) {
    std::optional<tickets::link::outcome> got;
    link_->send(tickets::list{}, [&](tickets::link::outcome o) { got = std::move(o); });
    store_->answer(std::move(from_store), store_->open() - 1);
    return got.value();
  }
  template <class Reply>
  Reply reply(Reply from_store) {
    const tickets::link::outcome o = received(tickets::reply{std::move(from_store)});
    return *tickets::reply_in<Reply>(o);
  }
  store::notification notified(const store::notification& from_store) {
    store_->notify(from_store);
    return notified_.back();
  }
  static store::hold hold(fencing_token token) { return {"stock", id(1), token, 30s}; }

  scripted_link* store_ = nullptr;
  std::unique_ptr<token_base_link> link_;
  std::vector<store::notification> notified_;
};

TEST_F(token_base, is_taken_off_the_token_of_a_hold) {
  EXPECT_EQ(sent(tickets::look{hold(raised(7))}).token, fencing_token{7});
  EXPECT_EQ(sent(tickets::find{hold(raised(7))}).token, fencing_token{7});
  EXPECT_EQ(sent(tickets::release{hold(raised(7))}).token, fencing_token{7});
  EXPECT_EQ(sent(tickets::withdraw{hold(raised(7))}).token, fencing_token{7});
  EXPECT_EQ(sent(tickets::downgrade{hold(raised(7))}).token, fencing_token{7});
  EXPECT_EQ(sent(tickets::annotate{hold(raised(7)), nullptr}).token, fencing_token{7});
}

TEST_F(token_base, is_taken_off_the_tokens_of_several_holds) {
  const auto tokens = [](const test::request_form& of) {
    std::vector<std::uint64_t> all;
    for (const store::hold& each : of.holds) all.push_back(each.token.value());
    return all;
  };
  EXPECT_THAT(tokens(sent(tickets::renew{{hold(raised(7)), hold(raised(9))}})), ElementsAre(7, 9));
  EXPECT_THAT(tokens(sent(tickets::release_all{{}, {hold(raised(8)), hold({})}})), ElementsAre(8, 0));
}

TEST_F(token_base, leaves_alone_what_is_no_token) {
  EXPECT_EQ(sent(tickets::find{hold({})}).token, fencing_token{}) << "not known yet";
  EXPECT_EQ(sent(tickets::acquire{std::make_shared<const store::claim>(test::a_claim()), 5}).name, "stock");
  EXPECT_EQ(sent(tickets::acquire_all{{}, {std::make_shared<const store::claim>(test::a_claim())}}).kind,
            task::acquire_all);
  EXPECT_EQ(sent(tickets::inspect{"stock", 3}).waiters_read, 3U);
  EXPECT_TRUE(sent(tickets::list{true}).idle);
  const test::request_form renewal = sent(tickets::renew{{hold(raised(7))}, test::epoch, true});
  EXPECT_EQ(renewal.send_by, test::epoch);
  EXPECT_TRUE(renewal.is_last);
  EXPECT_EQ(renewal.holds.at(0).owner, id(1));
}

TEST_F(token_base, is_taken_off_both_ends_of_a_range) {
  struct range {
    fencing_token first;
    fencing_token last;
    bool operator==(const range&) const = default;
  };
  const auto forced = [&](fencing_token first, fencing_token last) {
    const test::request_form at_store = sent(tickets::force_release{"stock", first, last});
    const test::request_form wish = sent(tickets::request_release{"stock", first, last, "why"});
    EXPECT_EQ(at_store.token, wish.token);
    EXPECT_EQ(at_store.last, wish.last);
    EXPECT_EQ(wish.reason(), "why");
    return range{at_store.token, at_store.last};
  };
  EXPECT_EQ(forced(raised(3), raised(9)), (range{fencing_token{3}, fencing_token{9}}));
  EXPECT_EQ(forced({}, last_token), (range{{}, last_token})) << "all holds, also of other libraries";
  EXPECT_EQ(forced({}, {}), range{}) << "no hold";
  EXPECT_EQ(forced(fencing_token{5}, raised(9)), (range{fencing_token{1}, fencing_token{9}}));
  EXPECT_EQ(forced(raised(5), last_token), (range{fencing_token{5}, last_token}));
  EXPECT_EQ(forced({}, fencing_token{5}), range{}) << "those without a token";
  const range nothing{last_token, last_token};
  EXPECT_EQ(forced(fencing_token{5}, fencing_token{5}), nothing) << "seen with another base";
  EXPECT_EQ(forced(fencing_token{5}, raised(0)), nothing);
}

TEST_F(token_base, is_added_to_a_place_and_a_vote) {
  tickets::place at = test::granted_at(7);
  at.vote = tickets::ballot{fencing_token{7}, fencing_token{8}, 3, false, {}, 5us};
  const tickets::place seen = reply(at);
  EXPECT_EQ(seen.token, raised(7));
  EXPECT_TRUE(seen.granted);
  EXPECT_EQ(seen.vote->accepted, raised(7));
  EXPECT_EQ(seen.vote->fence, raised(8));
  EXPECT_EQ(seen.vote->grant, 3U);
  tickets::ballot of_refusal;
  of_refusal.fence = fencing_token{8};
  const tickets::refused refused = reply(tickets::refused{of_refusal});
  EXPECT_EQ(refused.vote->accepted, fencing_token{});
  EXPECT_EQ(refused.vote->fence, raised(8));
  const auto all =
      reply(tickets::several{{test::granted_at(2), tickets::done{}, tickets::nothing{}, tickets::refused{}}});
  ASSERT_EQ(all.each.size(), 4U);
  EXPECT_EQ(std::get<tickets::place>(all.each[0]).token, raised(2));
}

TEST_F(token_base, is_added_to_what_is_read) {
  lock_state state;
  state.name = "stock";
  state.last_token = fencing_token{9};
  state.holders.resize(2);
  state.holders[0].token = fencing_token{4};
  state.waiters.resize(1);
  state.waiters[0].token = fencing_token{9};
  const auto seen = reply(std::optional{state});
  EXPECT_EQ(seen->last_token, raised(9));
  EXPECT_EQ(seen->holders.at(0).token, raised(4));
  EXPECT_EQ(seen->holders.at(1).token, fencing_token{}) << "of another library";
  EXPECT_EQ(seen->waiters.at(0).token, raised(9));
  EXPECT_FALSE(reply(std::optional<lock_state>{}));

  std::vector<lock_summary> lines(2);
  lines[0].last_token = fencing_token{9};
  lines[0].holder_token = fencing_token{4};
  const auto listed = reply(lines);
  EXPECT_EQ(listed.at(0).last_token, raised(9));
  EXPECT_EQ(listed.at(0).holder_token, raised(4));
  EXPECT_EQ(listed.at(1).last_token, fencing_token{});
  EXPECT_EQ(listed.at(1).holder_token, fencing_token{});
}

TEST_F(token_base, leaves_replies_without_tokens_alone) {
  EXPECT_EQ(reply(tickets::count{3}).value, 3U);
  EXPECT_EQ(reply(tickets::other_capacity{5}).capacity, 5);
  EXPECT_THAT(reply(tickets::kept{{true, false}, {1}}).each, ElementsAre(true, false));
  EXPECT_EQ(reply(tickets::paused{{errc::unavailable, "guard"}}).reason.message, "guard");
  EXPECT_TRUE(reply(tickets::more{nullptr, true}).progress);
  reply(tickets::nothing{});
  reply(tickets::done{});
  const auto failed = received(test::retryable_maybe_executed);
  EXPECT_TRUE(std::get<store::request_error>(failed).maybe_executed);
}

TEST_F(token_base, is_added_to_notifications) {
  const store::notification granted = notified({id(1),
                                                store::notification_kind::granted,
                                                fencing_token{7},
                                                11,
                                                {12, 4},
                                                3,
                                                fencing_token{7},
                                                fencing_token{8}});
  EXPECT_EQ(granted.token, raised(7));
  EXPECT_EQ(granted.accepted, raised(7));
  EXPECT_EQ(granted.fence, raised(8));
  EXPECT_EQ(granted.proof, 11U);
  EXPECT_EQ(granted.position.connection, 12U);
  EXPECT_EQ(granted.position.message, 4U);
  EXPECT_EQ(notified({id(1), store::notification_kind::look, {}}).token, fencing_token{});
}

constexpr fencing_token largest_with_base{last_token.value() - base};
constexpr fencing_token too_large{largest_with_base.value() + 1};

TEST_F(token_base, refuses_a_sum_that_is_no_token_any_more) {
  EXPECT_EQ(reply(test::granted_at(largest_with_base.value())).token, last_token);
  for (const fencing_token excess : {too_large, last_token, fencing_token{~std::uint64_t{0}}}) {
    const auto outcome = received(tickets::reply{test::granted_at(excess.value())});
    const auto& failed = std::get<store::request_error>(outcome);
    EXPECT_EQ(failed.reason.code, errc::corrupt_store);
    EXPECT_THAT(failed.reason.message, HasSubstr("token_base=1000000"));
    EXPECT_THAT(failed.reason.message, HasSubstr(std::to_string(excess.value())));
    EXPECT_TRUE(failed.granted && failed.maybe_executed) << "the claim is to be withdrawn";
    EXPECT_FALSE(failed.retryable);
  }
  lock_state state;
  state.last_token = too_large;
  EXPECT_TRUE(std::holds_alternative<store::request_error>(received(tickets::reply{std::optional{state}})));
}

TEST_F(token_base, makes_a_notification_with_such_a_sum_a_hint_to_look) {
  const store::notification hint =
      notified({id(1), store::notification_kind::granted, too_large, 11, {12, 0}});
  EXPECT_EQ(hint.kind, store::notification_kind::look);
  EXPECT_EQ(hint.owner, id(1));
  EXPECT_EQ(hint.token, fencing_token{});
  EXPECT_EQ(hint.proof, 0U);
}

// ---- the other calls

/// Notes each call.
class noting_link final : public tickets::link {
 public:
  explicit noting_link(std::vector<std::string>& calls) : calls_{calls} {}
  void send(tickets::request, on_reply) override { calls_.emplace_back("send"); }
  void take_back(std::uint64_t request) override { calls_.push_back("take_back " + std::to_string(request)); }
  [[nodiscard]] bool joins(const std::vector<std::string_view>& names) const override {
    return names.size() == 2;
  }
  void on_notifications(on_notification) override { calls_.emplace_back("on_notifications"); }
  void on_gap(const std::function<void()>& missed) override { missed(); }
  std::shared_ptr<void> watch(store::watched target, std::function<void()> changed) override {
    changed();
    return std::make_shared<std::string>(target.value());
  }
  void when_delivered(std::function<void()> action) override {
    calls_.emplace_back("when_delivered");
    action();
  }
  [[nodiscard]] std::optional<store::time_point> session_until() const override { return test::epoch; }
  void on_session(const std::function<void()>& extended) override { extended(); }
  void help(store::caller& caller) override { caller.serve(); }
  bool drive() override { return true; }
  void kick() override { calls_.emplace_back("kick"); }
  void shut() override { calls_.emplace_back("shut"); }

 private:
  std::vector<std::string>& calls_;
};

TEST(token_base_link, passes_everything_else_on) {
  std::vector<std::string> calls;
  token_base_link link{std::make_unique<noting_link>(calls), base};
  const auto note = [&](const char* name) { return [&calls, name] { calls.emplace_back(name); }; };
  EXPECT_TRUE(link.joins({"a", "b"}));
  EXPECT_FALSE(link.joins({}));
  link.take_back(7);
  link.on_gap(note("gap"));
  EXPECT_EQ(*std::static_pointer_cast<std::string>(link.watch("stock", note("changed"))), "stock");
  link.when_delivered(note("delivered"));
  EXPECT_EQ(link.session_until(), test::epoch);
  link.on_session(note("session"));
  store::caller caller;
  link.help(caller);
  EXPECT_TRUE(caller.is_served());
  EXPECT_TRUE(link.drive());
  link.kick();
  link.shut();
  EXPECT_THAT(calls, ElementsAre("take_back 7", "gap", "changed", "when_delivered", "delivered", "session",
                                 "kick", "shut"));
}

// ---- its option

std::uint64_t base_in(const std::string& option) {
  store_url url{"memory:?" + option};
  return take_token_base(url);
}

TEST(token_base_option, is_a_whole_number_that_leaves_room_for_tokens) {
  EXPECT_EQ(base_in("token_base=0"), 0U);
  EXPECT_EQ(base_in("token_base=1767226000000000"), 1'767'226'000'000'000U);
  EXPECT_EQ(base_in("token_base=4611686018427387904"), std::uint64_t{1} << 62);
  EXPECT_EQ(base_in("other=1"), 0U);
  for (const char* wrong : {"token_base=-1", "token_base=", "token_base=1.5", "token_base=1e9",
                            "token_base=4611686018427387905", "token_base=99999999999999999999"}) {
    EXPECT_THROW(static_cast<void>(base_in(wrong)), error) << wrong;
  }
}

}  // namespace
}  // namespace holdfast::stores
