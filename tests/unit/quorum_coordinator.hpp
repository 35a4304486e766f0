// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/virtual_time.hpp"
#include "stores/quorum/protocol/coordinator.hpp"
#include "support/request_form.hpp"
#include "unit/quorum_votes.hpp"

namespace holdfast::quorum {

/// A client of five servers. What it sends to them is kept until the test answers.
class quorum_coordinator : public testing::Test, protected votes, protected transport {
 protected:
  explicit quorum_coordinator(bool keeps_sets = false) : keeps_sets_{keeps_sets} {}

  using outcome = coordinator::outcome;
  using servers = std::set<std::size_t>;
  static inline const servers everywhere{0, 1, 2, 3, 4};

  struct sent {
    ballots::request request;
    on_reply done;
  };
  using answer = std::shared_ptr<std::optional<outcome>>;

  answer send(tickets::request r) {
    auto got = std::make_shared<std::optional<outcome>>();
    time_.turn([&] {
      coordinator_.send(std::move(r), [got](outcome o) {
        EXPECT_FALSE(*got) << "answered twice";
        *got = std::move(o);
      });
      EXPECT_FALSE(*got) << "answered within the call";
    });
    return got;
  }
  void send_to(std::size_t server, ballots::request r, on_reply done) override {
    in_flight_[server].push_back({std::move(r), std::move(done)});
  }
  void soon(std::function<void()> action) override { time_.defer_callback(std::move(action)); }
  void notify(const store::notification& n) override { notified_.push_back(n); }
  [[nodiscard]] bool keeps_sets() const override { return keeps_sets_; }
  void join(std::size_t server, const std::string& /*set*/) override {
    EXPECT_TRUE(joining_.insert(server).second) << "again";
  }
  void leave(std::size_t server, const std::string& /*set*/) override { left_.insert(server); }

  void reply(std::size_t server, outcome o) {
    ASSERT_FALSE(in_flight_[server].empty()) << "nothing was asked of server " << server;
    const auto first = std::move(in_flight_[server].front());
    in_flight_[server].pop_front();
    time_.turn([&] { first.done(std::move(o)); });
  }
  void reply(const servers& of, const outcome& o) {
    for (const std::size_t server : of) reply(server, o);
  }
  /// These cannot be reached.
  void fail(const servers& of_them) {
    for (const std::size_t server : of_them) reply(server, of(failed(server)));
  }
  /// A notification of the claim comes from a server.
  void notify_of(std::size_t server, store::notification_kind kind, fencing_token token = {},
                 std::uint8_t owner = 1) {
    time_.turn([&] { coordinator_.on_notification(server, {claim(true, owner).owner, kind, token}); });
  }
  /// The error names these servers, which `fail` has made.
  static void expect_named(const answer& got, const servers& of_them) {
    ASSERT_NE(error_in(got), nullptr);
    EXPECT_TRUE(error_in(got)->retryable);
    for (const std::size_t each : of_them) {
      EXPECT_THAT(error_in(got)->reason.message, testing::HasSubstr("server " + std::to_string(each)));
    }
  }
  [[nodiscard]] servers addressees(task kind) const {
    servers all;
    for (std::size_t i = 0; i < 5; ++i) {
      for (const sent& each : in_flight_[i])
        if (task_of(each.request) == kind) all.insert(i);
    }
    return all;
  }
  [[nodiscard]] const ballots::request& first_at(std::size_t server) const {
    return in_flight_[server].front().request;
  }

  /// The servers' clocks are known, and the claim was sent.
  answer begin(tickets::request r) {
    auto got = send(std::move(r));
    reply(everywhere, of(refused("")));
    EXPECT_EQ(addressees(task::vote), everywhere);
    number_of_claim_ = form_of(first_at(0)).token;
    return got;
  }
  /// A claim that holds by some servers; the others have not answered.
  void hold_at(const servers& of_them) {
    const auto got = begin(claim(true));
    reply(of_them, grant());
    ASSERT_TRUE(*got);
  }
  [[nodiscard]] outcome grant() const {
    auto at = granted();
    at.vote->accepted = at.vote->fence = form_of(first_at_any()).token;
    return of(at);
  }
  [[nodiscard]] ballots::request first_at_any() const {
    for (const auto& each : in_flight_)
      if (!each.empty()) return each.front().request;
    return {};
  }
  static request_form request(task kind) {
    auto r = claim(true);
    r.kind = kind;
    return r;
  }
  /// Of the claims of so many owners.
  static request_form renewal(std::uint8_t owners = 1) {
    request_form r;
    r.kind = task::renew;
    for (std::uint8_t owner = 1; owner <= owners; ++owner)
      r.holds.push_back({"stock", claim(true, owner).owner, fencing_token{number}, std::chrono::seconds{30}});
    return r;
  }
  static outcome kept(bool is_kept) { return of(tickets::kept{{is_kept}, {}}); }
  static outcome kept(bool first, bool second) { return of(tickets::kept{{first, second}, {}}); }
  static outcome unsure() { return of(tickets::kept{{false}, {0}}); }

  template <class Reply>
  static const Reply* in(const answer& got) {
    const auto* const any = *got ? std::get_if<tickets::reply>(&**got) : nullptr;
    return any == nullptr ? nullptr : std::get_if<Reply>(any);
  }
  static const store::request_error* error_in(const answer& got) {
    return *got ? std::get_if<store::request_error>(&**got) : nullptr;
  }

  test::virtual_time time_;
  fencing_token number_of_claim_;  // that began last
  std::deque<sent> in_flight_[5];
  std::vector<store::notification> notified_;
  servers joining_;  // told the set
  servers left_;     // asked to delete it
  const bool keeps_sets_;
  coordinator coordinator_{time_, terms_of(5), *this};
};

}  // namespace holdfast::quorum
