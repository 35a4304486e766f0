// SPDX-License-Identifier: Apache-2.0
#include "holdfast/lease.hpp"

#include <string>
#include <utility>
#include <variant>

#include "api/access.hpp"
#include "api/ends.hpp"
#include "api/start.hpp"
#include "lease/refusal.hpp"
#include "runtime/process.hpp"

namespace holdfast {

namespace {

using detail::lease_record;

/// The loss signal of an inert lease: one that has fired already.
std::stop_token fired() {
  static const std::stop_source source = [] {
    std::stop_source s;
    s.request_stop();
    return s;
  }();
  return source.get_token();
}

bool is_ours(const lease_record& r) { return r.client->generation == runtime::process_generation(); }

}  // namespace

std::string_view to_string(renewal result) noexcept {
  switch (result) {
    case renewal::renewed: return "renewed";
    case renewal::lost: return "lost";
    case renewal::unknown: return "unknown";
  }
  return "unknown";
}

std::string_view to_string(loss_reason reason) noexcept {
  switch (reason) {
    case loss_reason::ended_at_store: return "ended_at_store";
    case loss_reason::not_renewed: return "not_renewed";
    case loss_reason::session_ended: return "session_ended";
    case loss_reason::client_closed: return "client_closed";
  }
  return "unknown";
}

lease::lease() noexcept = default;
lease::lease(std::shared_ptr<detail::lease_record> record) noexcept : record_{std::move(record)} {}
lease::lease(lease&&) noexcept = default;

lease& lease::operator=(lease&& other) noexcept {
  const lease old{std::move(*this)};  // released at the end of this call
  record_ = std::move(other.record_);
  return *this;
}

lease::~lease() {
  if (!record_) return;
  if (const auto core = detail::client_of(record_)) core->drop(record_);
}

bool lease::held() const noexcept {
  return record_ && is_ours(*record_) && record_->held_at(boot_clock::now());
}

fencing_token lease::token() const noexcept { return record_ ? record_->hold.token : fencing_token{}; }

boot_clock::time_point lease::deadline() const noexcept {
  return record_ ? record_->deadline() : boot_clock::time_point{};
}

duration lease::remaining() const noexcept {
  const auto now = boot_clock::now();
  if (!record_ || !is_ours(*record_) || !record_->held_at(now)) return duration::zero();
  return std::chrono::duration_cast<duration>(record_->deadline() - now);
}

const std::string& lease::name() const noexcept {
  static const std::string none;
  return record_ ? record_->hold.name : none;
}

mode lease::mode() const noexcept { return record_ ? record_->mode() : mode::exclusive; }

std::int64_t lease::permits() const noexcept { return record_ ? record_->permits : 0; }

std::stop_token lease::lost() const noexcept {
  if (!record_ || !is_ours(*record_)) return fired();
  // After a long pause this call may come before the keeper's timer.
  if (record_->state() == lease_record::phase::held && !record_->held_at(boot_clock::now())) {
    if (const auto core = detail::client_of(record_)) core->check(record_);
  }
  return record_->state() == lease_record::phase::lost ? fired() : record_->lost.get_token();
}

std::optional<loss_reason> lease::loss() const noexcept {
  if (!record_ || !is_ours(*record_) || record_->state() != lease_record::phase::lost) return std::nullopt;
  return record_->loss;
}

loss_callback lease::on_lost(const std::function<void(std::error_code)>& action) {
  if (!action) throw error{errc::invalid_argument, "lease::on_lost: an empty function"};
  const auto core = detail::client_of(record_);
  if (!core || !is_ours(*record_)) {
    action(errc::closed);
    return {};
  }
  const auto registered = core->on_lost(record_, action);
  if (const auto* number = std::get_if<detail::client_core::op_id>(&registered))
    return loss_callback{*number};
  action(std::get<std::error_code>(registered));
  return {};
}

bool lease::remove_on_lost(loss_callback callback) noexcept {
  const auto core = detail::client_of(record_);
  return core && core->remove_on_lost(record_, static_cast<detail::client_core::op_id>(callback));
}

std::stop_token lease::release_requested() const {
  const auto core = detail::client_of(record_);
  return core && core->is_ours() ? core->release_requested(record_) : std::stop_token{};
}

std::optional<std::string> lease::release_request() const {
  const auto core = detail::client_of(record_);
  return core && core->is_ours() ? core->release_request(record_) : std::nullopt;
}

std::error_code lease::release() noexcept {
  const auto record = std::exchange(record_, nullptr);
  if (!record) return errc::not_owner;
  const auto core = detail::client_of(record);
  if (!core) return errc::lost;
  if (!core->is_ours()) return errc::closed;
  return core->wait<std::error_code>(
      [&](const auto& with, auto done) { core->release(with, record, std::move(done)); });
}

renewal lease::renew() noexcept {
  const auto core = detail::client_of(record_);
  if (!core || !core->is_ours()) return renewal::lost;
  return core->wait<renewal>(
      [&](const auto& with, auto done) { with.leases.renew(record_, std::move(done)); });
}

void lease::downgrade() { detail::downgrade_lease(record_); }

namespace detail {

void downgrade_lease(const lease_core::lease_record_ptr& lease) {
  const auto core = client_of(lease);
  if (!lease) throw error{errc::not_owner, "nothing is held that could be downgraded"};
  const std::string attempt = lease_core::attempt_on("cannot downgrade the hold of", {&lease, 1});
  if (!core) throw error{errc::lost, attempt + ": " + lease_core::reason_of(errc::lost, {&lease, 1})};
  core->require_open();
  const auto failed = core->wait<std::optional<failure>>(
      [&](const auto& with, auto done) { with.leases.downgrade(lease, std::move(done)); });
  if (failed) throw explained(*failed, attempt);
}

}  // namespace detail

}  // namespace holdfast
