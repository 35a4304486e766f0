// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/request.hpp"

namespace holdfast::test {

/// The kinds of requests, in the order of the variants: of tickets::request, then of ballots::request.
enum class task : std::uint8_t {
  acquire,
  find,
  look,
  renew,
  release,
  withdraw,
  downgrade,
  annotate,
  force_release,
  request_release,
  inspect,
  list,
  acquire_all,
  release_all,
  vote,
  yield,
  accept,
  retract,
  end_hold,
  ask_owner
};
inline constexpr std::size_t task_count = 20;
inline constexpr std::array<const char*, task_count> task_names = {
    "acquire",  "find",      "look",        "renew",         "release",
    "withdraw", "downgrade", "annotate",    "force_release", "request_release",
    "inspect",  "list",      "acquire_all", "release_all",   "vote",
    "yield",    "accept",    "retract",     "end_hold",      "ask_owner"};

[[nodiscard]] inline task task_of(const tickets::request& r) { return static_cast<task>(r.index()); }
[[nodiscard]] inline const char* name_of_task(const tickets::request& r) { return task_names.at(r.index()); }

/// A request as a row of a table, for tests that make or read requests of any kind. A kind uses the members
/// that it has, and leaves the others alone.
struct request_form {
  task kind{};
  std::string name{};
  owner_id owner{};
  fencing_token token{};  // or the first of several
  fencing_token last = tickets::last_token;
  std::int64_t weight = store::full_capacity;
  std::int64_t capacity = store::full_capacity;
  bool shareable = false;
  bool election = false;
  bool wait = false;
  duration ttl{};
  std::shared_ptr<const std::string> metadata{};  // or the reason of a request to release
  std::vector<store::hold> holds{};
  store::time_point send_by = store::time_point::max();
  bool is_last = false;
  bool idle = false;
  std::size_t waiters_read = std::numeric_limits<std::size_t>::max();
  std::shared_ptr<tickets::listing_state> listed{};
  std::uint64_t grant = 0;
  bool met_foreign = false;

  [[nodiscard]] store::hold hold() const { return {name, owner, token, ttl}; }
  [[nodiscard]] store::claim_ptr claim() const {
    store::claim c;
    c.name = name;
    c.owner = owner;
    c.mode = store::mode_of(weight, capacity);
    c.permits = c.mode == mode::permits ? weight : 1;
    c.capacity = c.mode == mode::permits ? capacity : 0;
    c.shareable = shareable;
    c.election = election;
    c.wait = wait;
    c.ttl = ttl;
    c.metadata = metadata;
    return std::make_shared<const store::claim>(std::move(c));
  }
  [[nodiscard]] std::string reason() const { return std::string{store::text_of(metadata)}; }
  [[nodiscard]] tickets::request request() const {
    switch (kind) {
      case task::acquire: return tickets::acquire{claim()};
      case task::find: return tickets::find{hold()};
      case task::look: return tickets::look{hold()};
      case task::renew: return tickets::renew{holds, send_by, is_last};
      case task::release: return tickets::release{hold()};
      case task::withdraw: return tickets::withdraw{hold()};
      case task::downgrade: return tickets::downgrade{hold()};
      case task::annotate: return tickets::annotate{hold(), metadata};
      case task::force_release: return tickets::force_release{name, token, last};
      case task::request_release: return tickets::request_release{name, token, last, reason()};
      case task::inspect: return tickets::inspect{name, waiters_read, listed};
      case task::list: return tickets::list{idle, listed};
      case task::acquire_all: return tickets::acquire_all{{}, {claim(), claim()}};
      case task::release_all: return tickets::release_all{{}, holds};
      default: throw std::logic_error{"a request to one of several servers: see ballot_of"};
    }
  }
  /// The members that a request of that kind has.
  template <class Request>
  void take(const Request& of) {
    const auto take_hold = [this](const store::hold& h) {
      name = h.name;
      owner = h.owner;
      token = h.token;
      ttl = h.ttl;
    };
    if constexpr (std::is_base_of_v<store::hold, Request>) take_hold(of);
    if constexpr (requires { of.hold; }) take_hold(of.hold);
    if constexpr (requires { of.claim; }) {
      take_hold(hold_of(*of.claim, {}));
      weight = store::weight_of(*of.claim);
      capacity = store::capacity_of(*of.claim);
      shareable = of.claim->shareable;
      election = of.claim->election;
      wait = of.claim->wait;
      metadata = of.claim->metadata;
    }
    if constexpr (requires { of.number; }) token = of.number;
    if constexpr (requires { of.wait; }) wait = of.wait;
    if constexpr (requires { of.name; }) name = of.name;
    if constexpr (requires { of.owner; }) owner = of.owner;
    if constexpr (requires { of.first; }) token = of.first;
    if constexpr (requires { of.last; }) last = of.last;
    if constexpr (requires { of.metadata; }) metadata = of.metadata;
    if constexpr (requires { of.reason; }) metadata = std::make_shared<const std::string>(of.reason);
    if constexpr (requires { of.holds; }) holds = of.holds;
    if constexpr (requires { of.send_by; }) send_by = of.send_by;
    if constexpr (requires { of.is_last; }) is_last = of.is_last;
    if constexpr (requires { of.idle; }) idle = of.idle;
    if constexpr (requires { of.waiters_read; }) waiters_read = of.waiters_read;
    if constexpr (requires { of.listed; }) listed = of.listed;
    if constexpr (requires { of.grant; }) grant = of.grant;
    if constexpr (requires { of.met_foreign; }) met_foreign = of.met_foreign;
  }
  operator tickets::request() const { return request(); }  // NOLINT(google-explicit-constructor)
};

[[nodiscard]] inline request_form form_of(const tickets::request& r) {
  request_form f;
  f.kind = task_of(r);
  std::visit([&](const auto& of) { f.take(of); }, r);
  return f;
}

}  // namespace holdfast::test
