// SPDX-License-Identifier: Apache-2.0
#include "holdfast/lease.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <shared_mutex>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "c/guard.hpp"
#include "c/handles.hpp"
#include "c/wakeup.hpp"
#include "holdfast/counting_semaphore.hpp"
#include "holdfast/election.hpp"
#include "holdfast/lease_set.hpp"
#include "holdfast/lock_set.hpp"
#include "holdfast/mutex.hpp"
#include "holdfast/shared_mutex.hpp"

using holdfast::client;
using holdfast::counting_semaphore;
using holdfast::duration;
using holdfast::election;
using holdfast::errc;
using holdfast::error;
using holdfast::lease;
using holdfast::lease_set;
using holdfast::lock_options;
using holdfast::lock_set;
using holdfast::lock_spec;
using holdfast::loss_reason;
using holdfast::mutex;
using holdfast::renewal;
using holdfast::shared_mutex;
using holdfast::term;
using holdfast::c::cleared;
using holdfast::c::copy_of;
using holdfast::c::guarded;
using holdfast::c::ms_of;
using holdfast::c::options_of;
using holdfast::c::owned;
using holdfast::c::required;
using holdfast::c::stop_descriptor;
using holdfast::c::text_of;
using holdfast::c::versioned;
using holdfast::c::wait_of;

static_assert(HOLDFAST_ENDED_AT_STORE == static_cast<int>(loss_reason::ended_at_store) + 1);
static_assert(HOLDFAST_NOT_RENEWED == static_cast<int>(loss_reason::not_renewed) + 1);
static_assert(HOLDFAST_SESSION_ENDED == static_cast<int>(loss_reason::session_ended) + 1);
static_assert(HOLDFAST_CLIENT_CLOSED == static_cast<int>(loss_reason::client_closed) + 1);

namespace {

using any_hold = std::variant<lease, lease_set, term>;

std::error_code release(lease& held) { return held.release(); }
std::error_code release(lease_set& held) { return held.release(); }
std::error_code release(term& held) { return held.resign(); }

const lease* at(const lease& held, std::size_t) { return &held; }
const lease* at(const term& held, std::size_t) { return &holdfast::detail::term_access::lease_of(held); }
const lease* at(const lease_set& held, std::size_t index) {
  return index < held.leases().size() ? &held.leases()[index] : nullptr;
}

/// A name and its token, which outlive a release.
struct grant {
  std::string name;
  std::uint64_t token;
};

std::vector<grant> grants_of(const any_hold& hold) {
  std::vector<grant> all;
  const auto* const set = std::get_if<lease_set>(&hold);
  const std::size_t count = set == nullptr ? 1 : set->leases().size();
  for (std::size_t each = 0; each < count; ++each) {
    const lease* const one = std::visit([&](const auto& held) { return at(held, each); }, hold);
    all.push_back({one->name(), one->token().value()});
  }
  return all;
}

}  // namespace

/// Calls use the hold under a shared lock, which a release takes for no longer than it needs to move the hold
/// away.
struct holdfast_lease : owned {
  explicit holdfast_lease(any_hold granted) : hold{std::move(granted)}, grants{grants_of(hold)} {}

  mutable std::shared_mutex mutex;
  any_hold hold;
  const std::vector<grant> grants;
  stop_descriptor lost;  // after the hold: their callbacks end before it does
  stop_descriptor release_requested;
  std::mutex changing;  // C++ renews, downgrades and proclaims from one thread at a time

  /// Runs `call` with the lease, the set or the term; it may be inert.
  template <class Call>
  auto with_hold(Call call) const {
    const std::shared_lock held{mutex};
    return std::visit(call, hold);
  }
  template <class Call>
  void with_hold(Call call) {
    require_ours();
    const std::shared_lock held{mutex};
    std::visit(
        [&](auto& each) {
          if (!each) throw error{errc::not_owner, "'" + grants.front().name + "' was released already"};
          call(each);
        },
        hold);
  }
  template <class Call>
  void change_hold(Call call) {
    require_ours();
    const std::lock_guard alone{changing};
    with_hold(call);
  }
  [[nodiscard]] std::string refusal(const char* attempt) const {
    return std::string{"cannot "} + attempt + " '" + grants.front().name + "'" +
           (grants.size() > 1 ? " and the other names" : "");
  }
};

namespace {

constexpr std::size_t most_specs = 256;  // as a lock_set has

void require_no_permits(const holdfast_spec& spec) {
  if (spec.permits != 0 || spec.capacity != 0)
    throw error{errc::invalid_argument, "permits and capacity are for HOLDFAST_PERMITS, and 0 otherwise"};
}

error unknown_mode(const holdfast_spec& spec) {
  return {errc::invalid_argument, "there is no mode " + std::to_string(spec.mode)};
}

/// A request whose struct was checked.
struct checked_request {
  holdfast_request given;
  lock_options options;
  duration limit;
  std::stop_token stop;

  checked_request(const holdfast_client& client, const holdfast_request* request)
      : given{versioned(required(request, "request"), sizeof(holdfast_request), "holdfast_request")},
        options{options_of(given.options, client.defaults)},
        limit{wait_of(given.wait_ms, "wait_ms")} {
    static_cast<void>(required(given.specs, "specs"));
    if (given.spec_count == 0 || given.spec_count > most_specs)  // before they are read
      throw error{errc::invalid_argument, "spec_count is not between 1 and " + std::to_string(most_specs)};
    if (given.stop != nullptr) {
      given.stop->require_ours();
      stop = given.stop->source.get_token();
    }
  }
  [[nodiscard]] const holdfast_spec& first() const { return given.specs[0]; }
};

std::optional<lease> acquire_one(client& locks, const checked_request& wanted) {
  const holdfast_spec& spec = wanted.first();
  const auto name = text_of(spec.name, "name");
  const auto& limit = wanted.limit;
  const auto& stop = wanted.stop;
  if (spec.mode == HOLDFAST_PERMITS) {
    counting_semaphore semaphore{locks, name, static_cast<std::ptrdiff_t>(spec.capacity), wanted.options};
    return semaphore.try_acquire_permits_for(static_cast<std::ptrdiff_t>(spec.permits), limit, stop);
  }
  require_no_permits(spec);
  switch (spec.mode) {
    case HOLDFAST_EXCLUSIVE: return mutex{locks, name, wanted.options}.try_acquire_for(limit, stop);
    case HOLDFAST_SHARED:
      return shared_mutex{locks, name, wanted.options}.try_acquire_shared_for(limit, stop);
    case HOLDFAST_WRITER: return shared_mutex{locks, name, wanted.options}.try_acquire_for(limit, stop);
    default: throw unknown_mode(spec);
  }
}

lock_spec spec_of(const holdfast_spec& spec) {
  const auto name = text_of(spec.name, "name");
  if (spec.mode == HOLDFAST_PERMITS) return lock_spec::permits(name, spec.capacity, spec.permits);
  require_no_permits(spec);
  switch (spec.mode) {
    case HOLDFAST_EXCLUSIVE: return lock_spec{name};
    case HOLDFAST_SHARED: return lock_spec::shared(name);
    case HOLDFAST_WRITER: return lock_spec::writer(name);
    default: throw unknown_mode(spec);
  }
}

std::optional<lease_set> acquire_all(client& locks, const checked_request& wanted) {
  std::vector<lock_spec> names;
  const std::span all{wanted.given.specs, wanted.given.spec_count};
  std::transform(all.begin(), all.end(), std::back_inserter(names), spec_of);
  return lock_set{locks, std::move(names), wanted.options}.try_acquire_for(wanted.limit, wanted.stop);
}

/// The error of a wait that has ended without a grant. The stop of the request may be freed by then.
error not_granted(const client& locks, const checked_request& wanted) {
  const std::string attempt = std::string{"cannot lock '"} + wanted.first().name + "'" +
                              (wanted.given.spec_count > 1 ? " and the other names" : "") + " on " +
                              locks.url();
  if (wanted.stop.stop_requested()) return {errc::cancelled, attempt};
  return {errc::timeout,
          attempt + (wanted.limit == duration::zero() ? ": others hold it, or wait for it"
                                                      : ": others held it for the whole wait limit")};
}

template <class Hold>
holdfast_lease* granted(const client& locks, const checked_request& wanted, std::optional<Hold> held) {
  if (!held) throw not_granted(locks, wanted);
  return std::make_unique<holdfast_lease>(any_hold{std::move(*held)}).release();
}

std::string_view value_of(const void* value, std::size_t size) {
  if (size == 0) return {};
  return {static_cast<const char*>(&required(static_cast<const char*>(value), "value")), size};
}

}  // namespace

int holdfast_acquire(holdfast_client* client, const holdfast_request* request, holdfast_lease** lease,
                     char** message) {
  return guarded(message, [&] {
    auto*& out = cleared(lease, "lease");
    auto& from = required(client, "client");
    const checked_request wanted{from, request};
    out = wanted.given.spec_count == 1 ? granted(from.locks, wanted, acquire_one(from.locks, wanted))
                                       : granted(from.locks, wanted, acquire_all(from.locks, wanted));
  });
}

int holdfast_campaign(holdfast_client* client, const holdfast_request* request, const void* value,
                      size_t size, holdfast_lease** lease, char** message) {
  return guarded(message, [&] {
    auto*& out = cleared(lease, "lease");
    auto& from = required(client, "client");
    const checked_request wanted{from, request};
    if (wanted.given.spec_count != 1 || wanted.first().mode != HOLDFAST_EXCLUSIVE)
      throw error{errc::invalid_argument, "an election takes one name, HOLDFAST_EXCLUSIVE"};
    require_no_permits(wanted.first());
    election of{from.locks, text_of(wanted.first().name, "name"), wanted.options};
    out = granted(from.locks, wanted, of.try_campaign_for(value_of(value, size), wanted.limit, wanted.stop));
  });
}

size_t holdfast_lease_count(const holdfast_lease* lease) {
  return lease == nullptr ? 0 : lease->grants.size();
}

const char* holdfast_lease_name(const holdfast_lease* lease, size_t index) {
  return index < holdfast_lease_count(lease) ? lease->grants[index].name.c_str() : nullptr;
}

uint64_t holdfast_lease_token(const holdfast_lease* lease, size_t index) {
  return index < holdfast_lease_count(lease) ? lease->grants[index].token : 0;
}

bool holdfast_lease_is_held(const holdfast_lease* lease) {
  if (lease == nullptr || !lease->is_ours()) return false;
  return lease->with_hold([](const auto& held) { return held.held(); });
}

int64_t holdfast_lease_remaining_ms(const holdfast_lease* lease) {
  if (lease == nullptr || !lease->is_ours()) return 0;
  return lease->with_hold([](const auto& held) { return ms_of(held.remaining()); });
}

int holdfast_lease_loss(const holdfast_lease* lease, size_t index) {
  if (index >= holdfast_lease_count(lease) || !lease->is_ours()) return HOLDFAST_NOT_LOST;
  return lease->with_hold([index](const auto& held) -> int {
    const auto* const one = at(held, index);
    const auto reason = one == nullptr ? std::nullopt : one->loss();  // a set that was released has none
    return reason ? static_cast<int>(*reason) + 1 : HOLDFAST_NOT_LOST;
  });
}

int holdfast_lease_lost_fd(holdfast_lease* lease, int* fd, char** message) {
  return guarded(message, [&] {
    required(fd, "fd") = -1;
    auto& of = required(lease, "lease");
    of.with_hold([&](const auto& held) { *fd = of.lost.fd(held.lost()); });
  });
}

int holdfast_lease_release_request_fd(holdfast_lease* lease, int* fd, char** message) {
  return guarded(message, [&] {
    required(fd, "fd") = -1;
    auto& of = required(lease, "lease");
    of.with_hold([&](const auto& held) { *fd = of.release_requested.fd(held.release_requested()); });
  });
}

int holdfast_lease_release_request(const holdfast_lease* lease, char** reason, char** message) {
  return guarded(message, [&] {
    auto*& out = cleared(reason, "reason");
    const auto& of = required(lease, "lease");
    of.require_ours();
    const auto text = of.with_hold([&](const auto& held) {
      if (!held) throw error{errc::not_owner, of.refusal("tell of requests to release")};
      return held.release_request();
    });
    if (!text) return;
    out = copy_of(*text);
    if (out == nullptr) throw std::bad_alloc{};
  });
}

int holdfast_lease_renew(holdfast_lease* lease, char** message) {
  return guarded(message, [&] {
    auto& of = required(lease, "lease");
    of.change_hold([&](auto& held) {
      switch (held.renew()) {
        case renewal::renewed: return;
        case renewal::lost: throw error{errc::lost, of.refusal("renew")};
        case renewal::unknown: throw error{errc::unknown_outcome, of.refusal("renew")};
      }
    });
  });
}

int holdfast_lease_downgrade(holdfast_lease* lease, char** message) {
  return guarded(message, [&] {
    auto& of = required(lease, "lease");
    of.change_hold([&](auto& held) {
      if constexpr (requires { held.downgrade(); }) {
        held.downgrade();
      } else {
        throw error{errc::invalid_argument, of.refusal("downgrade") + ": it is no lease of one name"};
      }
    });
  });
}

int holdfast_lease_proclaim(holdfast_lease* lease, const void* value, size_t size, char** message) {
  return guarded(message, [&] {
    auto& of = required(lease, "lease");
    of.change_hold([&](auto& held) {
      if constexpr (requires { held.proclaim({}); }) {
        held.proclaim(value_of(value, size));
      } else {
        throw error{errc::invalid_argument, of.refusal("proclaim a value of") + ": it is no term"};
      }
    });
  });
}

int holdfast_lease_release(holdfast_lease* lease, char** message) {
  return guarded(message, [&] {
    auto& of = required(lease, "lease");
    of.require_ours();
    any_hold ended;
    {
      const std::unique_lock alone{of.mutex};
      std::swap(ended, of.hold);
    }
    if (const auto problem = std::visit([](auto& held) { return release(held); }, ended))
      throw error{problem, of.refusal("release")};
  });
}

void holdfast_lease_free(holdfast_lease* lease) {
  if (lease != nullptr && !lease->is_ours()) {
    lease->lost.abandon();
    lease->release_requested.abandon();
  }
  delete lease;
}
