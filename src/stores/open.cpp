// SPDX-License-Identifier: Apache-2.0
#include "stores/open.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "runtime/io_deadline.hpp"
#include "runtime/wakeup_fd.hpp"
#include "stores/doctor/examination.hpp"
#include "stores/scheme.hpp"
#include "stores/token_base.hpp"

namespace holdfast::stores {

namespace {

struct entry {
  std::string_view scheme;
  std::unique_ptr<tickets::link> (*open)(store_url&, const client_options&, runtime::event_loop&);
  doctor::report (*diagnose)(store_url&, const client_options&);
  database_schema (*schema_of)(store_url&, const client_options&) = nullptr;  // of stores in database servers
  database_schema (*fences_of)(store_url&,
                               const client_options&) = nullptr;  // where data can be beside locks
  [[nodiscard]] constexpr bool is_in_server() const { return scheme != "memory" && scheme != "sqlite"; }
};

constexpr auto entries = std::to_array<entry>({
    {"memory", open_memory, diagnose_memory},
#ifdef HOLDFAST_WITH_SQLITE
    {"sqlite", open_sqlite, diagnose_sqlite, nullptr, fences_of_sqlite},
#endif
#ifdef HOLDFAST_WITH_REDIS
    {"redis", open_redis, diagnose_redis, nullptr, fences_of_redis},
    {"rediss", open_redis, diagnose_redis, nullptr, fences_of_redis},
    {"redis+sentinel", open_redis, diagnose_redis, nullptr, fences_of_redis},
    {"rediss+sentinel", open_redis, diagnose_redis, nullptr, fences_of_redis},
    {"redis+cluster", open_redis, diagnose_redis, nullptr, fences_of_redis},
    {"rediss+cluster", open_redis, diagnose_redis, nullptr, fences_of_redis},
    {"redlock", open_redis, diagnose_redis, nullptr, fences_of_redis},
    {"redlocks", open_redis, diagnose_redis, nullptr, fences_of_redis},
    {"unix", open_redis, diagnose_redis, nullptr, fences_of_redis},
#endif
#ifdef HOLDFAST_WITH_ZOOKEEPER
    {"zk", open_zookeeper, diagnose_zookeeper},
#endif
#ifdef HOLDFAST_WITH_POSTGRESQL
    {"postgresql", open_postgresql, diagnose_postgresql, schema_of_postgresql, fences_of_postgresql},
    {"postgres", open_postgresql, diagnose_postgresql, schema_of_postgresql, fences_of_postgresql},
#endif
#ifdef HOLDFAST_WITH_MARIADB
    {"mariadb", open_mariadb, diagnose_mariadb, schema_of_mariadb, fences_of_mariadb},
    {"mysql", open_mariadb, diagnose_mariadb, schema_of_mariadb, fences_of_mariadb},
#endif
});

const entry& entry_of(const store_url& url) {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const entry& e) { return e.scheme == url.scheme(); });
  if (found != entries.end()) return *found;
  const bool is_port = !url.path().empty() && std::all_of(url.path().begin(), url.path().end(),
                                                          [](char c) { return c >= '0' && c <= '9'; });
  if (is_port) url.refuse("it has no scheme; for Redis write redis://" + url.scheme() + ':' + url.path());
  std::string known;
  for (const entry& e : entries) known.append(known.empty() ? "" : ", ").append(e.scheme);
  url.refuse("unknown scheme; this build has " + known);
}

/// A server would count a masked password as a failed log-in, and may lock the account.
void require_password(const store_url& url, const client_options& options) {
  if (!url.has_masked_password() || options.password()) return;
  url.refuse(
      "its password is masked, as an outer holdfast run and the commands of holdfast why do it; give it with "
      "--password-file or HOLDFAST_PASSWORD");
}

database_schema with_password(const store_url& url, const client_options& options, database_schema known) {
  known.provide = [url, options, provide = std::move(known.provide)] {
    require_password(url, options);
    return provide();
  };
  return known;
}

}  // namespace

std::unique_ptr<tickets::link> open(store_url url, const client_options& options, runtime::event_loop& on) {
  require_password(url, options);
  const entry& found = entry_of(url);
  const std::uint64_t base = take_token_base(url);
  auto opened = found.open(url, options, on);
  if (base == 0) return opened;
  return std::make_unique<token_base_link>(std::move(opened), base);
}

database_schema schema_of(store_url url, const client_options& options) {
  const auto read = entry_of(url).schema_of;
  static_cast<void>(take_token_base(url));  // of clients alone
  if (read == nullptr)
    throw error{errc::invalid_argument, url.masked() + " has no schema: only stores in database servers do"};
  return with_password(url, options, read(url, options));
}

database_schema fences_of(store_url url, const client_options& options) {
  const auto read = entry_of(url).fences_of;
  static_cast<void>(take_token_base(url));
  if (read == nullptr) {
    throw error{errc::invalid_argument,
                url.masked() + " has no fences: PostgreSQL, MariaDB, SQLite and Redis check fencing tokens"};
  }
  return with_password(url, options, read(url, options));
}

database_schema make_schema(const store_url& url, std::string_view subject, std::string text,
                            std::function<bool(int stop)> provide) {
  return {std::move(text), [provide = std::move(provide), masked_url = url.masked(), subject] {
            const runtime::wakeup_fd never;
            try {
              return provide(never.descriptor());
            } catch (const runtime::connection_error& c) {
              throw error{c.reason.code, "cannot make the " + std::string{subject} + " of " + masked_url +
                                             ": " + c.reason.message};
            }
          }};
}

doctor::report diagnose(store_url url, const client_options& options) {
  require_password(url, options);
  const entry& found = entry_of(url);
  const std::uint64_t base = take_token_base(url);
  store_url whole = url;  // of which the store takes its options
  try {
    doctor::report result = found.diagnose(url, options);
    result.tokens.base = base;
    std::vector<finding>& all = result.findings;
    // The client's private key is in the file of `cert` if the URL has no `key`.
    const auto certificate = whole.take("cert");
    doctor::examine_key(whole.take("key").value_or(certificate.value_or("")), all);
    // Clients of the others stand still together with their store.
    if (found.is_in_server()) doctor::examine_host_clock(doctor::host_clock(), all);
    return result;
  } catch (const runtime::connection_error& c) {
    throw error{c.reason.code, "cannot examine " + url.masked() + ": " + c.reason.message};
  }
}

std::vector<std::string_view> known_schemes() {
  std::vector<std::string_view> names;
  names.reserve(entries.size());
  for (const entry& e : entries) names.push_back(e.scheme);
  return names;
}

}  // namespace holdfast::stores
