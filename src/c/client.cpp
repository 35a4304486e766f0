// SPDX-License-Identifier: Apache-2.0
#include "holdfast/client.hpp"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "c/guard.hpp"
#include "c/handles.hpp"
#include "holdfast/lease.hpp"
#include "holdfast/version.hpp"

using holdfast::category;
using holdfast::client_options;
using holdfast::default_store;
using holdfast::duration;
using holdfast::errc;
using holdfast::lock_options;
using holdfast::loss_reason;
using holdfast::retry_policy;
using holdfast::to_string;
using namespace holdfast::c;  // NOLINT(google-build-using-namespace)

static_assert(HOLDFAST_ERR_TIMEOUT == static_cast<int>(errc::timeout));
static_assert(HOLDFAST_ERR_LOST == static_cast<int>(errc::lost));
static_assert(HOLDFAST_ERR_NOT_OWNER == static_cast<int>(errc::not_owner));
static_assert(HOLDFAST_ERR_UNAVAILABLE == static_cast<int>(errc::unavailable));
static_assert(HOLDFAST_ERR_UNKNOWN_OUTCOME == static_cast<int>(errc::unknown_outcome));
static_assert(HOLDFAST_ERR_INVALID_NAME == static_cast<int>(errc::invalid_name));
static_assert(HOLDFAST_ERR_INVALID_ARGUMENT == static_cast<int>(errc::invalid_argument));
static_assert(HOLDFAST_ERR_INVALID_URL == static_cast<int>(errc::invalid_url));
static_assert(HOLDFAST_ERR_WRONG_TYPE == static_cast<int>(errc::wrong_type));
static_assert(HOLDFAST_ERR_FOREIGN_STORE == static_cast<int>(errc::foreign_store));
static_assert(HOLDFAST_ERR_CORRUPT_STORE == static_cast<int>(errc::corrupt_store));
static_assert(HOLDFAST_ERR_PERMISSION_DENIED == static_cast<int>(errc::permission_denied));
static_assert(HOLDFAST_ERR_EXHAUSTED == static_cast<int>(errc::exhausted));
static_assert(HOLDFAST_ERR_CANCELLED == static_cast<int>(errc::cancelled));
static_assert(HOLDFAST_ERR_CLOSED == static_cast<int>(errc::closed));

// Programs that are compiled already have structs of these sizes. One that grows is still taken at its first
// size, which versioned() gets in place of its sizeof then.
static_assert(sizeof(void*) != 8 || sizeof(holdfast_lock_options) == 64);
static_assert(sizeof(void*) != 8 || sizeof(holdfast_client_options) == 40);
static_assert(sizeof(void*) != 8 || sizeof(holdfast_request) == 48);
static_assert(sizeof(void*) != 8 || sizeof(holdfast_spec) == 32);

namespace {

/// Sets an option; 0 stands for its default, and leaves the option as it is.
template <class Set>
void set_time(std::int64_t time_ms, const char* name, Set set) {
  if (time_ms == 0) return;
  set(time_ms == HOLDFAST_NONE ? duration::zero() : wait_of(time_ms, name));
}

client_options options_of(const holdfast_client_options* given) {
  client_options options;
  if (given == nullptr) return options;
  const auto known = versioned(*given, sizeof(holdfast_client_options), "holdfast_client_options");
  options.locks(holdfast::c::options_of(known.locks, options.locks()));
  set_time(known.flush_limit_ms, "flush_limit_ms", [&](duration time) { options.flush_limit(time); });
  if (known.program != nullptr) options.program(known.program);
  if (known.password != nullptr) options.password(std::string{known.password});
  return options;
}

}  // namespace

namespace holdfast::c {

lock_options options_of(const holdfast_lock_options* given, const lock_options& otherwise) {
  if (given == nullptr) return otherwise;
  const auto known = versioned(*given, sizeof(holdfast_lock_options), "holdfast_lock_options");
  lock_options options;
  retry_policy retry;
  set_time(known.ttl_ms, "ttl_ms", [&](duration time) { options.ttl(time); });
  set_time(known.drift_margin_ms, "drift_margin_ms", [&](duration time) { options.drift_margin(time); });
  set_time(known.grace_ms, "grace_ms", [&](duration time) { options.grace(time); });
  set_time(known.at_least_ms, "at_least_ms", [&](duration time) { options.at_least(time); });
  set_time(known.retry_limit_ms, "retry_limit_ms", [&](duration time) { retry.limit(time); });
  if (known.label != nullptr) options.label(known.label);
  return options.renewal(!known.is_fixed).retry(retry);
}

}  // namespace holdfast::c

void holdfast_free(char* text) { std::free(text); }

const char* holdfast_version(void) { return HOLDFAST_VERSION; }

const char* holdfast_error_text(int code) {
  constexpr int count = HOLDFAST_ERR_CLOSED + 1;
  try {
    static const auto texts = [] {
      std::array<std::string, count> all;
      all[HOLDFAST_OK] = "done";
      for (int each = 1; each < count; ++each) all.at(each) = category().message(each);
      return all;
    }();
    return code >= 0 && code < count ? texts.at(code).c_str() : "unknown error";
  } catch (const std::bad_alloc&) {
    return "out of memory";
  }
}

const char* holdfast_loss_text(int loss) {
  if (loss <= HOLDFAST_NOT_LOST || loss > HOLDFAST_CLIENT_CLOSED) return "";
  return to_string(static_cast<loss_reason>(loss - 1)).data();  // a literal
}

int holdfast_client_open(const char* url, const holdfast_client_options* options, holdfast_client** opened,
                         char** message) {
  return guarded(message, [&] {
    auto*& out = cleared(opened, "client");
    const std::string store = url == nullptr ? default_store() : url;
    out = std::make_unique<holdfast_client>(store, options_of(options)).release();
  });
}

const char* holdfast_client_url(const holdfast_client* client) {
  return client == nullptr ? nullptr : client->locks.url().c_str();
}

void holdfast_client_close(holdfast_client* client) {
  if (client != nullptr) client->locks.close();
}

void holdfast_client_free(holdfast_client* client) { delete client; }

int holdfast_stop_create(holdfast_stop** stop, char** message) {
  return guarded(message, [&] {
    auto*& out = cleared(stop, "stop");
    out = std::make_unique<holdfast_stop>().release();
  });
}

void holdfast_stop_request(holdfast_stop* stop) {
  if (stop != nullptr && stop->is_ours()) stop->source.request_stop();
}

void holdfast_stop_free(holdfast_stop* stop) { delete stop; }
