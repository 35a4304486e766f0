// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "core/link.hpp"
#include "core/notification.hpp"
#include "core/request.hpp"
#include "stores/quorum/protocol/contender.hpp"
#include "support/ballot_form.hpp"
#include "support/request_form.hpp"

namespace holdfast::quorum {

using test::form_of;
using test::request_form;
using test::task;
using test::task_of;

/// What servers say to a claim, for tests of the machines.
struct votes {
  static constexpr std::uint64_t number =
      5'000'000;  // of a claim: its place, and its token if it is accepted
  static constexpr std::chrono::microseconds clock{number};  // of the servers

  static constexpr duration silence = std::chrono::milliseconds{500};
  static constexpr duration furthest = std::chrono::seconds{1};  // a number ahead of a server's clock

  static voting_terms terms_of(std::size_t servers) {
    voting_terms of{.silence = silence, .furthest = furthest};
    for (std::size_t i = 0; i < servers; ++i) of.places.push_back("host" + std::to_string(i) + ":6379");
    return of;
  }
  static request_form claim(bool wait, std::uint8_t owner = 1) {
    request_form r;
    r.kind = task::acquire;
    r.name = "stock";
    r.owner = owner_id{owner_id::bytes_type{owner}};
    r.token = fencing_token{number};
    r.ttl = std::chrono::seconds{30};
    r.wait = wait;
    return r;
  }
  /// The server has accepted the token; zero: none, since its fence is larger.
  static tickets::place granted(std::uint64_t accepted = number, std::uint64_t fence = number,
                                std::uint64_t grant = 1) {
    tickets::place at;
    at.token = fencing_token{number};
    at.granted = true;
    at.vote.emplace();
    at.vote->accepted = fencing_token{accepted};
    at.vote->fence = fencing_token{fence};
    at.vote->grant = grant;
    at.vote->clock = clock;
    return at;
  }
  /// Granted, and another claim goes first.
  static tickets::place overtaken(std::uint64_t grant) {
    auto at = granted(number, number, grant);
    at.vote->is_overtaken = true;
    return at;
  }
  /// \param connection on which the answer came.
  static tickets::place queued(std::string blocker = "another", std::uint64_t connection = 1) {
    tickets::place at;
    at.token = fencing_token{number};
    at.position = {connection, 1};
    at.vote.emplace();
    at.vote->blocker = std::move(blocker);
    at.vote->clock = clock;
    return at;
  }
  /// A notification of the grant, with the secret of the claim's place.
  static store::notification proven(std::uint64_t secret) {
    store::notification n;
    n.kind = store::notification_kind::granted;
    n.token = n.accepted = n.fence = fencing_token{number};
    n.proof = secret;
    n.position = {1, 2};
    n.grant = 1;
    return n;
  }
  static tickets::refused refused(std::string blocker = "another") {
    tickets::ballot vote;
    vote.blocker = std::move(blocker);
    vote.clock = clock;
    return {std::move(vote)};
  }
  static store::request_error failed(std::size_t server, bool retryable = true) {
    return {
        {retryable ? errc::unavailable : errc::wrong_type, "server " + std::to_string(server) + " is gone"},
        retryable,
        false};
  }
  static tickets::link::outcome of(const store::request_error& failed) { return failed; }
  static tickets::link::outcome of(const tickets::reply& reply) { return reply; }
};

}  // namespace holdfast::quorum
