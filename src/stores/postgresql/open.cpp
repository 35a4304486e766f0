// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <optional>

#include "stores/postgresql/link/dial.hpp"
#include "stores/postgresql/link/libpq.hpp"
#include "stores/postgresql/protocol/schema.hpp"
#include "stores/scheme.hpp"
#include "stores/session_mode.hpp"
#include "stores/table_name.hpp"

namespace holdfast::stores {

namespace {

using namespace std::chrono_literals;

// The options of libpq that apply here.
constexpr auto passed_on = std::to_array<const char*>(
    {"host", "hostaddr", "port", "user", "password", "dbname", "target_session_attrs", "sslmode",
     "sslrootcert", "sslcert", "sslkey", "sslcrl", "channel_binding", "service", "passfile"});

constexpr std::array<std::string_view, 6> sslmodes{"disable", "allow",     "prefer",
                                                   "require", "verify-ca", "verify-full"};

constexpr std::string_view known_options =
    "table ([schema.]name of the lock table), owner (a role that is trusted as its owner), "
    "create (0: do not make it), keep_idle (how long an unused name's token is remembered), "
    "pooler (session: there is one, which pools sessions), "
    "mode (table, or session: locks end with the connection), "
    "notify (listen, or poll: no session is relied on), poll (the longest interval between two polls), "
    "session_timeout, connect_timeout, answer_timeout; "
    "and of libpq: host, hostaddr, port, user, password, dbname, target_session_attrs, sslmode, sslrootcert, "
    "sslcert, sslkey, sslcrl, channel_binding, service, passfile";

/// `postgresql://[user[:password]@]host[:port][/database]`, or without a host, which libpq reads as a Unix
/// socket.
void read_place(store_url& url, postgresql::settings& s) {
  auto& to = s.connection;
  const auto set = [&](const char* name, const std::string& value) {
    if (!value.empty()) to[name] = value;
  };
  if (url.path() != "//" && !url.path().starts_with("///")) {
    const std::string_view after_user = std::string_view{url.path()}.substr(url.path().rfind('@') + 1);
    if (after_user.find(',') < after_user.find('/', 2))
      url.refuse(
          "several hosts stand in options, as in postgresql:///DATABASE?host=HOST1,HOST2&port=5432,5433");
    const auto parts = url.split();
    set("host", parts.host);
    set("port", parts.port);
    set("user", parts.user);
    set("password", parts.password);
    set("dbname", parts.rest);
  } else if (url.path().size() > 3) {
    to["dbname"] = url.path().substr(3);
  }
  for (const char* name : passed_on) {
    if (const auto given = url.take(name)) set(name, *given);
  }
  // libpq reports that only when it connects, and then as if the server were unreachable.
  if (const auto given = to.find("sslmode");
      given != to.end() && std::ranges::find(sslmodes, given->second) == sslmodes.end()) {
    url.refuse("the option 'sslmode' is none of disable, allow, prefer, require, verify-ca and verify-full");
  }
}

/// Reads `pooler`. Only a pooler of sessions keeps a session for one client.
bool take_pooler(store_url& url) {
  const auto given = url.take("pooler");
  if (given && *given != "session") url.refuse("the option 'pooler' can only be 'session'");
  return given.has_value();
}

/// "app,batch": the roles that `holdfast schema` grants rights.
std::vector<std::string> take_roles(store_url& url, const char* option) {
  std::vector<std::string> roles;
  const auto given = url.take(option);
  if (!given) return roles;
  std::string_view rest{*given};
  while (true) {
    const std::string_view role = rest.substr(0, rest.find(','));
    if (!sql::postgresql::is_plain_role(role)) {
      url.refuse("the option '" + std::string{option} + "' is not a list of roles separated by commas");
    }
    roles.emplace_back(role);
    if (role.size() == rest.size()) return roles;
    rest.remove_prefix(role.size() + 1);
  }
}

/// The name of the place in errors: "db.example:5432/orders".
std::string place_of(const std::map<std::string, std::string>& to) {
  const auto get = [&](const char* name, const char* otherwise) {
    const auto found = to.find(name);
    return found == to.end() ? std::string{otherwise} : found->second;
  };
  const std::string host = get("host", "localhost");
  std::string place = host.find(':') == std::string::npos ? host : "[" + host + "]";
  if (!host.starts_with('/')) place.append(":").append(get("port", "5432"));
  const std::string database = get("dbname", "");
  return database.empty() ? place : place.append("/").append(database);
}

postgresql::settings settings_of(store_url& url, const client_options& options) {
  postgresql::settings s;
  read_place(url, s);
  if (options.password()) {
    s.connection.erase("password");
    s.password = runtime::password{options.password()};
  }
  const auto table = take_qualified_table(url);
  s.names = sql::naming{table.schema, table.name, '"'};
  s.owner = url.take("owner").value_or("");
  if (!s.owner.empty() && !sql::postgresql::is_plain_role(s.owner)) {
    url.refuse("the option 'owner' is not the name of a role");
  }
  s.create = url.take_flag("create", true);
  s.pooled = take_pooler(url);
  s.link.place = place_of(s.connection);
  s.link.joins = true;
  s.link.connect_limit = url.take_milliseconds("connect_timeout", s.link.connect_limit, 1ms, 1h);
  take_mode(url, s.link);
  if (s.link.session && s.pooled) {
    url.refuse(
        "mode=session does not work through a pooler, because a lock ends with the connection; remove "
        "'pooler' and connect directly");
  }
  take_notify(url, s.link, &sql::postgresql::poll_of);
  if (s.link.polling && s.pooled) {
    url.refuse("the option 'pooler' is of no use with notify=poll, which works through any; remove it");
  }
  s.link.keep_idle = url.take_duration("keep_idle", 30 * 24h);
  url.refuse_rest(known_options);
  postgresql::load_libpq();
  return s;
}

/// Has one connection for the calls and notifications of a client.
class postgresql_link final : public sql::link {
 public:
  /// Begins to connect.
  postgresql_link(runtime::event_loop& on, const postgresql::settings& s)
      : sql::link{on, s.link,
                  [s](const owner_id& client, const std::optional<owner_id>& former, sql::provision make,
                      int stop) { return postgresql::dial(s, client, former, make, stop); }} {
    connection().start();
  }
  ~postgresql_link() override { shut(); }
  postgresql_link(const postgresql_link&) = delete;
  postgresql_link& operator=(const postgresql_link&) = delete;
};

}  // namespace

std::unique_ptr<tickets::link> open_postgresql(store_url& url, const client_options& options,
                                               runtime::event_loop& on) {
  return std::make_unique<postgresql_link>(on, settings_of(url, options));
}

doctor::report diagnose_postgresql(store_url& url, const client_options& options) {
  return postgresql::diagnose(settings_of(url, options));
}

stores::database_schema schema_of_postgresql(store_url& url, const client_options& options) {
  const auto lockers = take_roles(url, "grant_lock");
  const auto lookers = take_roles(url, "grant_look");
  postgresql::settings s = settings_of(url, options);
  s.create = s.renew = true;  // `holdfast schema --apply` always makes the schema
  s.lockers = lockers;
  s.lookers = lookers;
  return make_schema(url, "tables", sql::postgresql::script(s.names, s.lockers, s.lookers, s.owner),
                     [s](int stop) { return postgresql::provide(s, stop); });
}

stores::database_schema fences_of_postgresql(store_url& url, const client_options& options) {
  const auto callers = take_roles(url, "grant_lock");
  postgresql::settings s = settings_of(url, options);
  s.names = sql::fences_in(s.names.schema(), '"');
  s.fences = true;
  s.lockers = callers;
  return make_schema(url, "fences", sql::postgresql::fence_script(s.names, s.lockers, s.owner),
                     [s](int stop) { return postgresql::provide_fences(s, stop); });
}

}  // namespace holdfast::stores
