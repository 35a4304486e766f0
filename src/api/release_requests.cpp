// What a client does about the holds of others: it ends them by force, or asks for their release; and how a
// lease shows that its release is asked for.

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "api/access.hpp"
#include "api/wait_for.hpp"
#include "base/name.hpp"

namespace holdfast {

namespace detail {

using lease_core::lease_record_ptr;
using runtime::core_lock;

store::forced client_core::force_release(std::string name, std::optional<fencing_token> token) {
  require_open();
  return wait_for<store::forced>([&](auto handler) {
    parts_->store->port().force_release(std::move(name), token, give_up(), std::move(handler));
  });
}

store::notified client_core::request_release(std::string name, std::optional<fencing_token> token,
                                             std::shared_ptr<const std::string> reason) {
  require_open();
  return wait_for<store::notified>([&](auto handler) {
    parts_->store->port().request_release(std::move(name), token, std::move(reason), give_up(),
                                          std::move(handler));
  });
}

client_core::op_id client_core::start_request_release(std::string name, std::optional<fencing_token> token,
                                                      std::shared_ptr<const std::string> reason,
                                                      on_notified handler) {
  return start_asking<std::size_t>(std::move(handler), [&](auto done) {
    parts_->store->port().request_release(std::move(name), token, std::move(reason), give_up(),
                                          std::move(done));
  });
}

void client_core::announce_release_request(const lease_record_ptr& lease) {
  parts_->loop.defer_signal(
      [own = lease->release_requested, of_set = lease->set_release_requested]() mutable {
        own.request_stop();
        of_set.request_stop();
      });
}

std::stop_token client_core::release_requested(const lease_record_ptr& lease) {
  const core_lock now{parts_->loop};
  // Made only where it is needed: most leases are never asked about it.
  if (!lease->release_requested.stop_possible()) {
    lease->release_requested = std::stop_source{};
    if (lease->release_request) lease->release_requested.request_stop();
  }
  return lease->release_requested.get_token();
}

std::optional<std::string> client_core::release_request(const lease_record_ptr& lease) {
  const core_lock now{parts_->loop};
  return lease->release_request ? std::optional{*lease->release_request} : std::nullopt;
}

void client_core::share_release_requests(const std::vector<lease_record_ptr>& leases,
                                         const std::stop_source& requested) {
  if (!is_ours()) return;
  bool is_requested = false;
  {
    const core_lock now{parts_->loop};
    for (const lease_record_ptr& each : leases) {
      each->set_release_requested = requested;
      is_requested = is_requested || each->release_request != nullptr;
    }
  }
  if (is_requested) std::stop_source{requested}.request_stop();
}

namespace {

/// \throws holdfast::error errc::invalid_argument.
std::shared_ptr<const std::string> checked_reason(std::string_view reason) {
  if (const auto problem = problem_of_text(reason, client::longest_reason)) {
    throw error{errc::invalid_argument, "the reason of a request to release is not allowed: " + *problem};
  }
  return std::make_shared<const std::string>(reason);
}

/// \throws holdfast::error errc::invalid_argument.
void require_token(const std::optional<fencing_token>& token) {
  if (token && !*token)
    throw error{errc::invalid_argument, "a request to release: the fencing token is zero"};
}

std::string attempt_to_ask(const std::string& name) { return "cannot ask the holders of '" + name + "'"; }

std::size_t ask(const client& locks, std::string_view name, std::optional<fencing_token> token,
                std::string_view reason) {
  const lock_name checked{name};
  require_token(token);
  const auto& core = client_access::core_of(locks);
  const auto answer = core->request_release(checked.str(), token, checked_reason(reason));
  if (const auto* failed = std::get_if<failure>(&answer))
    throw explained(*failed, attempt_to_ask(checked.str()), *core);
  return std::get<std::size_t>(answer);
}

}  // namespace

pending async_request_release(const client& locks, std::string_view name, std::optional<fencing_token> token,
                              std::string_view reason, std::unique_ptr<completion> handler) {
  const std::shared_ptr<completion> shared{std::move(handler)};
  const auto& core = client_access::core_of(locks);
  pending p;
  try {
    const lock_name checked{name};
    require_token(token);
    auto text = checked_reason(reason);
    core->require_open();
    p.owner = core;
    p.id = core->start_request_release(checked.str(), token, std::move(text),
                                       [shared, attempt = attempt_to_ask(checked.str()) + " on " +
                                                          core->url()](const store::notified& answer) {
                                         outcome ended{{}, {}, {}};
                                         if (const auto* failed = std::get_if<failure>(&answer)) {
                                           ended.code = failed->code;
                                           ended.detail = attempt + ": " + failed->message;
                                         } else {
                                           ended.count = std::get<std::size_t>(answer);
                                         }
                                         shared->complete(std::move(ended));
                                       });
  } catch (const error& e) {
    return complete_with(e, shared);
  }
  return p;
}

}  // namespace detail

std::size_t client::request_release(std::string_view name, std::string_view reason) const {
  return detail::ask(*this, name, std::nullopt, reason);
}

bool client::request_release(std::string_view name, fencing_token token, std::string_view reason) const {
  return detail::ask(*this, name, token, reason) != 0;
}

std::stop_token lease::release_requested() const {
  const auto core = detail::client_of(record_);
  return core && core->is_ours() ? core->release_requested(record_) : std::stop_token{};
}

std::optional<std::string> lease::release_request() const {
  const auto core = detail::client_of(record_);
  return core && core->is_ours() ? core->release_request(record_) : std::nullopt;
}

}  // namespace holdfast
