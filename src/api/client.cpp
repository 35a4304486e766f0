// SPDX-License-Identifier: Apache-2.0
#include "holdfast/client.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/ends.hpp"
#include "api/start.hpp"
#include "base/name.hpp"
#include "holdfast/diagnosis.hpp"
#include "holdfast/schema.hpp"
#include "holdfast/version.hpp"
#include "stores/open.hpp"

namespace holdfast {

client::client(std::string_view url, client_options options)
    : core_{detail::client_core::open(url, std::move(options))} {}

client::~client() { close(); }
client::client(client&&) noexcept = default;

client& client::operator=(client&& other) noexcept {
  if (this != &other) {
    close();
    core_ = std::move(other.core_);
  }
  return *this;
}

std::optional<lock_state> client::inspect(std::string_view name) const {
  return inspect(name, std::numeric_limits<std::size_t>::max());
}

std::optional<lock_state> client::inspect(std::string_view name, std::size_t most_waiters) const {
  const lock_name checked{name};
  core_->require_open();
  auto state = detail::value_of(core_->wait<store::inspected>([&](const auto& with, auto done) {
    with.store.inspect(checked.str(), most_waiters, with.give_up(), std::move(done));
  }),
                                "cannot inspect '" + checked.str() + "' on " + core_->url());
  if (state && state->waiters.size() > most_waiters) state->waiters.resize(most_waiters);
  return state;
}

std::vector<lock_summary> client::list(bool idle) const {
  core_->require_open();
  return detail::value_of(core_->wait<store::listed>([&](const auto& with, auto done) {
    with.store.list(idle, with.give_up(), std::move(done));
  }),
                          "cannot list the locks on " + core_->url());
}

namespace {

std::size_t end_by_force(detail::client_core& core, const lock_name& name,
                         std::optional<fencing_token> token) {
  core.require_open();
  const std::string of_one = token ? " with token " + std::to_string(token->value()) : "";
  return detail::value_of(core.wait<store::forced>([&](const auto& with, auto done) {
    with.store.force_release(name.str(), token, with.give_up(), std::move(done));
  }),
                          "cannot force the release of '" + name.str() + "'" + of_one + " on " + core.url());
}

}  // namespace

std::size_t client::force_release(std::string_view name) const {
  return end_by_force(*core_, lock_name{name}, std::nullopt);
}

bool client::force_release(std::string_view name, fencing_token token) const {
  const lock_name checked{name};
  if (!token) throw error{errc::invalid_argument, "client::force_release: the fencing token is zero"};
  return end_by_force(*core_, checked, token) != 0;
}

std::shared_ptr<void> client::watch(std::function<void()> changed) const {
  if (!changed) throw error{errc::invalid_argument, "client::watch: the function is empty"};
  return core_->watch(std::nullopt, std::move(changed));
}

std::shared_ptr<void> client::watch(std::string_view name, std::function<void()> changed) const {
  const lock_name checked{name};
  if (!changed) throw error{errc::invalid_argument, "client::watch: the function is empty"};
  return core_->watch(checked.str(), std::move(changed));
}

client_statistics client::statistics() const noexcept { return core_->statistics(); }

const std::string& client::url() const noexcept { return core_->url(); }

void client::close() noexcept {
  if (core_) core_->close();
}

std::string default_store() {
  const char* store = std::getenv("HOLDFAST_STORE");
  return store != nullptr && *store != '\0' ? store : "sqlite:";
}

std::vector<finding> diagnose(std::string_view url, const client_options& options) {
  return stores::diagnose(store_url{url}, options).findings;
}

std::vector<finding> diagnose_after(std::string_view url, std::string_view former,
                                    const client_options& options, const client_options& options_of_former) {
  doctor::report here = stores::diagnose(store_url{url}, options);
  const store_url other{former};
  doctor::succession of;
  of.former = other.masked();
  of.here = here.tokens;
  of.before = stores::diagnose(other, options_of_former).tokens;
  const client before{former, options_of_former};
  for (const lock_summary& each : before.list(true)) of.largest = std::max(of.largest, each.last_token);
  of.now = doctor::host_time();  // after the tokens that it may be the origin of
  here.findings.push_back(doctor::judge(of));
  return std::move(here.findings);
}

std::string schema(std::string_view url) { return stores::schema_of(store_url{url}, {}).text; }

bool apply_schema(std::string_view url, const client_options& options) {
  return stores::schema_of(store_url{url}, options).provide();
}

std::string fence_schema(std::string_view url) { return stores::fences_of(store_url{url}, {}).text; }

bool apply_fence_schema(std::string_view url, const client_options& options) {
  return stores::fences_of(store_url{url}, options).provide();
}

std::string_view version() noexcept { return HOLDFAST_VERSION; }

std::vector<std::string_view> schemes() { return stores::known_schemes(); }

}  // namespace holdfast
