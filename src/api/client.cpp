#include "holdfast/client.hpp"

#include <cstddef>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <variant>

#include "api/access.hpp"
#include "base/name.hpp"
#include "holdfast/version.hpp"
#include "stores/open.hpp"

namespace holdfast {

namespace {

/// Returns the value of an answer, or throws its failure.
template <class Value>
Value value_of(store::answer<Value> answer, const std::string& attempt, const detail::client_core& owner) {
  if (const auto* failed = std::get_if<failure>(&answer)) throw detail::explained(*failed, attempt, owner);
  return std::get<Value>(std::move(answer));
}

}  // namespace

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
  auto state =
      value_of(core_->inspect(checked.str(), most_waiters), "cannot inspect '" + checked.str() + "'", *core_);
  if (state && state->waiters.size() > most_waiters) state->waiters.resize(most_waiters);
  return state;
}

std::vector<lock_summary> client::list(bool idle) const {
  return value_of(core_->list(idle), "cannot list the locks", *core_);
}

std::size_t client::force_release(std::string_view name) const {
  const lock_name checked{name};
  return value_of(core_->force_release(checked.str(), std::nullopt),
                  "cannot force the release of '" + checked.str() + "'", *core_);
}

bool client::force_release(std::string_view name, fencing_token token) const {
  const lock_name checked{name};
  if (!token) throw error{errc::invalid_argument, "client::force_release: the fencing token is zero"};
  return value_of(core_->force_release(checked.str(), token),
                  "cannot force the release of '" + checked.str() + "' with token " +
                      std::to_string(token.value()),
                  *core_) != 0;
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

std::string_view version() noexcept { return HOLDFAST_VERSION; }

std::vector<std::string_view> schemes() { return stores::known_schemes(); }

}  // namespace holdfast
