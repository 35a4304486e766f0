// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <gtest/gtest.h>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <variant>

#include "stores/quorum/protocol/contender.hpp"
#include "support/request_form.hpp"
#include "unit/quorum_votes.hpp"

namespace holdfast::quorum {

/// A claim and its servers. What it sends is kept until the test answers.
class quorum_contender : public testing::Test, protected votes {
 protected:
  explicit quorum_contender(std::size_t servers = 5, bool wait = true)
      : terms_{terms_of(servers)}, claim_{claim(wait).claim(), fencing_token{number}, terms_} {}

  contender::step take(contender::step s) {
    for (const contender::order& each : s.send) {
      EXPECT_FALSE(in_flight_.contains(each.server)) << "two requests at server " << each.server;
      in_flight_[each.server] = each.request;
    }
    return s;
  }
  contender::step ask() { return take(claim_.ask(now_)); }
  template <class Answer>
  contender::step hear(std::size_t server, const Answer& answer) {
    EXPECT_EQ(in_flight_.erase(server), 1U) << "nothing was asked of server " << server;
    return take(claim_.on_reply(now_, server, of(answer)));
  }
  /// \return what the last answer has led to.
  template <class Answer>
  contender::step hear(std::initializer_list<std::size_t> servers, const Answer& answer) {
    contender::step last;
    for (const std::size_t server : servers) last = hear(server, answer);
    return last;
  }
  /// Asks, and is granted by servers 0 to 2 of five.
  void hold() {
    ask();
    hear({0, 1, 2}, granted());
    ASSERT_TRUE(claim_.holds());
  }
  contender::step wake_after(store::time_point::duration time) {
    now_ += time;
    return take(claim_.wake(now_));
  }
  contender::step notify(std::size_t server, const store::notification& n) {
    return take(claim_.on_notification(now_, server, n));
  }
  contender::step hint(std::size_t server) { return notify(server, {}); }

  /// The text of an error; empty: there is none.
  static std::string text_in(const contender::step& s) {
    const auto* const error = error_in(s);
    return error == nullptr ? "" : error->reason.message;
  }
  /// Servers with such a request under way.
  [[nodiscard]] std::set<std::size_t> addressees(task kind) const {
    std::set<std::size_t> all;
    for (const auto& [server, r] : in_flight_)
      if (task_of(r) == kind) all.insert(server);
    return all;
  }
  [[nodiscard]] const ballots::request& sent(std::size_t server) const { return in_flight_.at(server); }

  template <class Reply>
  static const Reply* answer_in(const contender::step& s) {
    const auto* const reply = s.answer ? std::get_if<tickets::reply>(&*s.answer) : nullptr;
    return reply == nullptr ? nullptr : std::get_if<Reply>(reply);
  }
  static bool is_grant(const contender::step& s) {
    const auto* const at = answer_in<tickets::place>(s);
    return at != nullptr && at->granted;
  }
  /// It holds: whoever asks is told.
  static bool is_won(const contender::step& s) { return is_grant(s) || s.is_won; }
  static const store::request_error* error_in(const contender::step& s) {
    return s.answer ? std::get_if<store::request_error>(&*s.answer) : nullptr;
  }

  const voting_terms terms_;
  contender claim_;
  store::time_point now_{std::chrono::hours{1}};
  std::map<std::size_t, ballots::request> in_flight_;
};

}  // namespace holdfast::quorum
