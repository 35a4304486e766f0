#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "stores/quorum/protocol/coordinator.hpp"

namespace holdfast::quorum {

/// What the parts of the coordinator share.

[[nodiscard]] inline const tickets::reply* reply_in(const std::optional<tickets::link::outcome>& o) {
  return o ? std::get_if<tickets::reply>(&*o) : nullptr;
}

template <class Reply>
[[nodiscard]] const Reply* reply_in(const std::optional<tickets::link::outcome>& o) {
  const tickets::reply* const any = reply_in(o);
  return any == nullptr ? nullptr : std::get_if<Reply>(any);
}

template <class Reply>
[[nodiscard]] std::size_t count_of(const std::vector<std::optional<tickets::link::outcome>>& all) {
  return static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [](const auto& o) { return reply_in<Reply>(o) != nullptr; }));
}

[[nodiscard]] inline std::size_t failures_in(const std::vector<std::optional<tickets::link::outcome>>& all) {
  return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](const auto& o) {
    return o && std::holds_alternative<store::request_error>(*o);
  }));
}

/// A claim and its machine.
struct coordinator::claimed {
  claimed(tickets::request r, const settings& of)
      : machine{std::move(r), {of.servers, of.silence, of.oldest, of.furthest, of.places}} {}
  contender machine;
  on_reply done;  // of the caller's request; null: none is under way
  store::scheduler::timer timer = 0;
  bool is_over = false;
  time_point revoked_until{};  // a server has said that it is ended by force
};

/// A request to all servers.
struct coordinator::round {
  outcomes all;
  decision decide;
  on_reply done;  // null: answered
  std::function<void(std::size_t server)> failed;
  store::scheduler::timer limit = 0;
  std::size_t due = 0;
};

/// Whether a release has come to all servers that answer.
struct coordinator::delivery {
  store::scheduler::timer limit = 0;
  bool is_over = false;
};

/// A claim that ends, on every server.
struct coordinator::farewell {
  tickets::request withdrawal;
  time_point give_up;  // its ttl has ended it by then
};

}  // namespace holdfast::quorum
