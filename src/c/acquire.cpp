// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/claims.hpp"
#include "c/guard.hpp"
#include "c/handles.hpp"
#include "c/lease.hpp"
#include "c/queue.hpp"
#include "holdfast/detail/election_handle.hpp"
#include "holdfast/detail/handle.hpp"
#include "holdfast/detail/set_handle.hpp"
#include "holdfast/lock_spec.hpp"

// Requests, and what acquires by them: each blocks, or completes through a queue.

namespace holdfast::c {
namespace {

constexpr std::size_t most_specs = 256;  // as a lock_set has

lock_spec spec_of(const holdfast_spec& spec) {
  const auto name = text_of(spec.name, "name");
  if (spec.mode == HOLDFAST_PERMITS) {
    detail::checked_capacity(spec.capacity);
    return lock_spec::permits(name, spec.capacity, spec.permits);
  }
  if (spec.permits != 0 || spec.capacity != 0)
    throw error{errc::invalid_argument, "permits and capacity are for HOLDFAST_PERMITS, and 0 otherwise"};
  switch (spec.mode) {
    case HOLDFAST_EXCLUSIVE: return lock_spec{name};
    case HOLDFAST_SHARED: return lock_spec::shared(name);
    case HOLDFAST_WRITER: return lock_spec::writer(name);
    default: throw error{errc::invalid_argument, "there is no mode " + std::to_string(spec.mode)};
  }
}

/// A request whose struct was checked.
struct wish {
  client& locks;
  std::vector<lock_spec> specs;
  lock_options options;
  duration limit{};
  std::stop_token stop;

  wish(holdfast_client* from, const holdfast_request* request) : locks{required(from, "client").locks} {
    const auto given = versioned(required(request, "request"), sizeof(holdfast_request), "holdfast_request");
    options = options_of(given.options, from->defaults);
    limit = detail::to_limit(wait_of(given.wait_ms, "wait_ms"));
    static_cast<void>(required(given.specs, "specs"));
    if (given.spec_count == 0 || given.spec_count > most_specs)  // before they are read
      throw error{errc::invalid_argument, std::to_string(given.spec_count) + " names; a request has 1 to " +
                                              std::to_string(most_specs)};
    const std::span all{given.specs, given.spec_count};
    std::transform(all.begin(), all.end(), std::back_inserter(specs), spec_of);
    if (given.stop != nullptr) {
      given.stop->require_ours();
      stop = given.stop->source.get_token();
    }
  }

  [[nodiscard]] std::string attempt() const {
    return "cannot lock '" + specs.front().name() + "'" + (specs.size() > 1 ? " and the other names" : "") +
           " on " + locks.url();
  }
  /// The error of a wait that has ended without a grant.
  [[nodiscard]] error timeout() const {
    return {errc::timeout,
            attempt() + (limit == duration::zero() ? ": others hold it, or wait for it"
                                                   : ": others held it for the whole wait limit")};
  }
};

/// One name, several, or an election, of which each can be acquired in two ways: `blocking()` is empty only
/// after a stop, or when others held it for the whole limit.
class name_of {
 public:
  explicit name_of(const wish& wanted)
      : wanted_{wanted},
        handle_{wanted.locks, spec().name(), spec().capacity(), wanted.options, spec().is_shareable()} {}
  [[nodiscard]] std::optional<any_hold> blocking() { return handle_.acquire(request(wanted_.stop)); }
  detail::pending start(std::unique_ptr<detail::completion> end) {
    return handle_.async_acquire(request({}), std::move(end));
  }

 private:
  [[nodiscard]] const lock_spec& spec() const { return wanted_.specs.front(); }
  [[nodiscard]] detail::lock_request request(std::stop_token stop) const {
    return {spec().mode(), spec().count(), wanted_.limit, std::move(stop)};
  }
  const wish& wanted_;
  detail::handle handle_;
};

class names_of {
 public:
  explicit names_of(const wish& wanted)
      : wanted_{wanted}, handle_{wanted.locks, wanted.specs, wanted.options} {}
  [[nodiscard]] std::optional<any_hold> blocking() { return handle_.acquire(wanted_.limit, wanted_.stop); }
  detail::pending start(std::unique_ptr<detail::completion> end) {
    return handle_.async_acquire(wanted_.limit, std::move(end));
  }

 private:
  const wish& wanted_;
  detail::set_handle handle_;
};

class election_of {
 public:
  election_of(const wish& wanted, const void* value, std::size_t size)
      : wanted_{wanted}, value_{bytes_of(value, size)}, handle_{checked(wanted)} {}
  [[nodiscard]] std::optional<any_hold> blocking() {
    return handle_.campaign(value_, wanted_.limit, wanted_.stop);
  }
  detail::pending start(std::unique_ptr<detail::completion> end) {
    return handle_.async_campaign(value_, wanted_.limit, std::move(end));
  }

 private:
  static detail::election_handle checked(const wish& wanted) {
    const lock_spec& spec = wanted.specs.front();
    if (wanted.specs.size() != 1 || spec.mode() != mode::exclusive || spec.is_shareable())
      throw error{errc::invalid_argument, "an election takes one name, HOLDFAST_EXCLUSIVE"};
    return {wanted.locks, spec.name(), wanted.options};
  }
  const wish& wanted_;
  const std::string_view value_;
  detail::election_handle handle_;
};

holdfast_lease* acquired(const wish& wanted, auto lock) {
  std::optional<any_hold> held = lock.blocking();
  if (held) return std::make_unique<holdfast_lease>(std::move(*held)).release();
  if (wanted.stop.stop_requested()) throw error{errc::cancelled, wanted.attempt()};
  throw wanted.timeout();
}

/// Brings what was acquired to a queue.
class acquisition final : public detail::completion {
 public:
  acquisition(std::shared_ptr<ends> to, std::uint64_t tag, const wish& wanted)
      : operation{std::make_shared<started>(std::move(to), tag)}, timeout_{wanted.timeout()} {
    if (!wanted.stop.stop_possible()) return;
    stop = std::make_shared<cancelling>();
    stop->listen_to(wanted.stop);
  }
  void complete(detail::outcome ended) noexcept override {
    if (ended.code) return operation->end(ended.code, ended.detail);
    if (auto held = hold_of(std::move(ended))) return operation->end(new holdfast_lease{std::move(*held)});
    operation->end(timeout_.code(), timeout_.detail());
  }
  [[nodiscard]] bool is_internal() const noexcept override { return true; }

  const std::shared_ptr<started> operation;
  std::shared_ptr<cancelling> stop;  // null: nothing ends it

 private:
  static std::optional<any_hold> hold_of(detail::outcome ended) {
    if (ended.granted_set) return std::move(ended.granted_set);
    if (!ended.granted) return std::nullopt;
    if (!ended.election) return std::move(ended.granted);
    return detail::term_access::make(std::move(ended.granted), std::move(ended.election->value),
                                     std::move(ended.election->metadata));
  }

  const error timeout_;
};

void start(const wish& wanted, holdfast_queue* queue, std::uint64_t tag, auto lock) {
  required(queue, "queue").require_ours();
  auto end = std::make_unique<acquisition>(queue->all, tag, wanted);
  const auto stop = end->stop;  // the operation may have ended before it has its number
  const auto operation = end->operation;
  auto pending = lock.start(std::move(end));
  if (stop) stop->begin(std::move(pending));
  operation->go_on(*detail::client_access::core_of(wanted.locks));
}

}  // namespace
}  // namespace holdfast::c

using namespace holdfast::c;  // NOLINT(google-build-using-namespace)

int holdfast_acquire(holdfast_client* client, const holdfast_request* request, holdfast_lease** lease,
                     char** message) {
  return guarded(message, [&] {
    auto*& out = cleared(lease, "lease");
    const wish wanted{client, request};
    out = wanted.specs.size() == 1 ? acquired(wanted, name_of{wanted}) : acquired(wanted, names_of{wanted});
  });
}

int holdfast_campaign(holdfast_client* client, const holdfast_request* request, const void* value,
                      size_t size, holdfast_lease** lease, char** message) {
  return guarded(message, [&] {
    auto*& out = cleared(lease, "lease");
    const wish wanted{client, request};
    out = acquired(wanted, election_of{wanted, value, size});
  });
}

int holdfast_acquire_start(holdfast_client* client, const holdfast_request* request, holdfast_queue* queue,
                           uint64_t tag, char** message) {
  return guarded(message, [&] {
    const wish wanted{client, request};
    if (wanted.specs.size() == 1) {
      start(wanted, queue, tag, name_of{wanted});
    } else {
      start(wanted, queue, tag, names_of{wanted});
    }
  });
}

int holdfast_campaign_start(holdfast_client* client, const holdfast_request* request, const void* value,
                            size_t size, holdfast_queue* queue, uint64_t tag, char** message) {
  return guarded(message, [&] {
    const wish wanted{client, request};
    start(wanted, queue, tag, election_of{wanted, value, size});
  });
}
