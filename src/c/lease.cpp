// SPDX-License-Identifier: Apache-2.0
#include "c/lease.hpp"

#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <variant>

#include "api/releases.hpp"
#include "c/queue.hpp"
#include "lease/refusal.hpp"

namespace holdfast::c {
namespace {

static_assert(HOLDFAST_ENDED_AT_STORE == static_cast<int>(loss_reason::ended_at_store) + 1);
static_assert(HOLDFAST_NOT_RENEWED == static_cast<int>(loss_reason::not_renewed) + 1);
static_assert(HOLDFAST_SESSION_ENDED == static_cast<int>(loss_reason::session_ended) + 1);
static_assert(HOLDFAST_CLIENT_CLOSED == static_cast<int>(loss_reason::client_closed) + 1);

std::vector<lease_core::lease_record_ptr> records_of(const any_hold& hold) {
  if (const auto* const one = std::get_if<lease>(&hold)) return {detail::lease_access::record(*one)};
  if (const auto* const led = std::get_if<term>(&hold))
    return {detail::lease_access::record(detail::term_access::lease_of(*led))};
  std::vector<lease_core::lease_record_ptr> all;
  for (const lease& each : std::get<lease_set>(hold).leases())
    all.push_back(detail::lease_access::record(each));
  return all;
}

/// \return what `call` says of the lease, the set or the term; `otherwise` after a release, in a child, and
///         for null.
template <class Result, class Call>
Result of_hold(const holdfast_lease* lease, Result otherwise, Call call) {
  if (lease == nullptr || !lease->is_ours()) return otherwise;
  const auto hold = lease->hold();
  return hold ? std::visit(call, *hold) : otherwise;
}

/// Calls with the lease, the set or the term. \throws holdfast::error as holdfast_lease::required_hold().
template <class Call>
auto with_hold(const holdfast_lease& lease, Call call) {
  return std::visit(call, *lease.required_hold());
}

template <class Call>
void change_hold(holdfast_lease& lease, Call call) {
  const auto hold = lease.required_hold();
  const std::lock_guard alone{lease.changing};
  std::visit(call, *hold);
}

}  // namespace
}  // namespace holdfast::c

using namespace holdfast::c;  // NOLINT(google-build-using-namespace)
using holdfast::errc;
using holdfast::error;
using holdfast::failure;
using holdfast::renewal;

holdfast_lease::holdfast_lease(any_hold granted)
    : records_{records_of(granted)}, hold_{std::make_shared<any_hold>(std::move(granted))} {}

std::string holdfast_lease::refusal(const char* attempt) const {
  return holdfast::lease_core::attempt_on(attempt, records_);
}

error holdfast_lease::refused(const char* attempt, std::error_code code) const {
  return {code, refusal(attempt) + ": " + holdfast::lease_core::reason_of(code, records_)};
}

error holdfast_lease::released_already() const {
  return {errc::not_owner, "'" + name() + "' was released already"};
}

std::shared_ptr<any_hold> holdfast_lease::required_hold() const {
  require_ours();
  auto held = hold();
  if (!held) throw released_already();
  return held;
}

std::shared_ptr<any_hold> holdfast_lease::take() {
  require_ours();
  const std::lock_guard held{mutex_};
  if (!hold_) throw released_already();
  return std::exchange(hold_, nullptr);
}

size_t holdfast_lease_count(const holdfast_lease* lease) {
  return lease == nullptr ? 0 : lease->records().size();
}

const char* holdfast_lease_name(const holdfast_lease* lease, size_t index) {
  return index < holdfast_lease_count(lease) ? lease->records()[index]->hold.name.c_str() : nullptr;
}

uint64_t holdfast_lease_token(const holdfast_lease* lease, size_t index) {
  return index < holdfast_lease_count(lease) ? lease->records()[index]->hold.token.value() : 0;
}

bool holdfast_lease_is_held(const holdfast_lease* lease) {
  return of_hold(lease, false, [](const auto& held) { return held.held(); });
}

int64_t holdfast_lease_remaining_ms(const holdfast_lease* lease) {
  return of_hold(lease, std::int64_t{0}, [](const auto& held) { return ms_of(held.remaining()); });
}

int holdfast_lease_loss(const holdfast_lease* lease, size_t index) {
  return of_hold(lease, int{HOLDFAST_NOT_LOST}, [&](const auto&) -> int {
    if (index >= lease->records().size()) return HOLDFAST_NOT_LOST;
    const auto& record = *lease->records()[index];
    if (record.state() != holdfast::lease_core::lease_record::phase::lost) return HOLDFAST_NOT_LOST;
    return static_cast<int>(record.loss) + 1;
  });
}

int holdfast_lease_lost_fd(holdfast_lease* lease, int* fd, char** message) {
  return guarded(message, [&] {
    required(fd, "fd") = -1;
    auto& of = required(lease, "lease");
    *fd = with_hold(of, [&](const auto& held) { return of.lost.fd(held.lost()); });
  });
}

int holdfast_lease_release_request_fd(holdfast_lease* lease, int* fd, char** message) {
  return guarded(message, [&] {
    required(fd, "fd") = -1;
    auto& of = required(lease, "lease");
    *fd = with_hold(of, [&](const auto& held) { return of.release_requested.fd(held.release_requested()); });
  });
}

int holdfast_lease_release_request(const holdfast_lease* lease, char** reason, char** message) {
  return guarded(message, [&] {
    auto*& out = cleared(reason, "reason");
    const auto text =
        with_hold(required(lease, "lease"), [](const auto& held) { return held.release_request(); });
    if (!text) return;
    out = copy_of(*text);
    if (out == nullptr) throw std::bad_alloc{};
  });
}

int holdfast_lease_renew(holdfast_lease* lease, char** message) {
  return guarded(message, [&] {
    auto& of = required(lease, "lease");
    change_hold(of, [&](auto& held) {
      switch (held.renew()) {
        case renewal::renewed: return;
        case renewal::lost: throw of.refused("cannot renew", errc::lost);
        case renewal::unknown: throw of.refused("cannot renew", errc::unknown_outcome);
      }
    });
  });
}

int holdfast_lease_downgrade(holdfast_lease* lease, char** message) {
  return guarded(message, [&] {
    auto& of = required(lease, "lease");
    change_hold(of, [&](auto& held) {
      if constexpr (requires { held.downgrade(); }) {
        held.downgrade();
      } else {
        throw error{errc::invalid_argument, of.refusal("cannot downgrade") + ": it is no lease of one name"};
      }
    });
  });
}

int holdfast_lease_proclaim(holdfast_lease* lease, const void* value, size_t size, char** message) {
  return guarded(message, [&] {
    auto& of = required(lease, "lease");
    change_hold(of, [&](auto& held) {
      if constexpr (requires { held.proclaim({}); }) {
        held.proclaim(bytes_of(value, size));
      } else {
        throw error{errc::invalid_argument, of.refusal("cannot proclaim a value of") + ": it is no term"};
      }
    });
  });
}

int holdfast_lease_release(holdfast_lease* lease, char** message) {
  return guarded(message, [&] {
    auto& of = required(lease, "lease");
    const auto ended = of.take();
    const auto core = holdfast::detail::client_of(of.records().front());
    const auto problem =
        core ? core->wait<std::error_code>(holdfast::detail::release_of(*core, of.records())) : errc::lost;
    if (problem) throw of.refused("cannot release", problem);
  });
}

int holdfast_lease_release_start(holdfast_lease* lease, holdfast_queue* queue, uint64_t tag, char** message) {
  return guarded(message, [&] {
    auto& of = required(lease, "lease");
    required(queue, "queue").require_ours();
    auto end = std::make_shared<started>(queue->all, tag);
    const auto ended = of.take();
    const auto core = holdfast::detail::client_of(of.records().front());
    if (!core) return end->end(errc::lost, of.refused("cannot release", errc::lost).detail());
    core->start<std::optional<failure>>(
        [&](const auto& with, auto done) {
          holdfast::detail::release_of(*core, of.records())(
              with, [records = of.records(), done = std::move(done)](std::error_code code) {
                if (!code) return done(std::nullopt);
                done(failure{code, holdfast::lease_core::reason_of(code, records)});
              });
        },
        [end, attempt = of.refusal("cannot release")](const std::optional<failure>& failed) {
          if (failed) return end->end(failed->code, attempt + ": " + failed->message);
          end->end(nullptr);
        },
        true);
    end->go_on(*core);
  });
}

void holdfast_lease_free(holdfast_lease* lease) {
  if (lease != nullptr && !lease->is_ours()) {
    lease->lost.abandon();
    lease->release_requested.abandon();
  }
  delete lease;
}
