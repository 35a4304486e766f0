// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "stores/mariadb/link/dial.hpp"
#include "stores/mariadb/link/libmariadb.hpp"
#include "stores/mariadb/link/listener.hpp"
#include "stores/mariadb/protocol/schema.hpp"
#include "stores/scheme.hpp"
#include "stores/session_mode.hpp"
#include "stores/table_name.hpp"

namespace holdfast::stores {

namespace {

using namespace std::chrono_literals;

constexpr std::string_view known_options =
    "table ([database.]name of the lock table), create (0: do not make it), "
    "keep_idle (how long an unused name's token is remembered), "
    "mode (table, or session: locks end with the connection), "
    "notify (listen, or poll: no session is relied on), poll (the longest interval between two polls), "
    "galera (one-node: all clients use this node of a cluster), "
    "session_timeout, connect_timeout, answer_timeout, socket (the path of a Unix socket), "
    "tls, ca, cert, key, tls_verify";

/// `mysql://[user[:password]@]host[:port]/database`, or with `?socket=` and any host.
void read_place(store_url& url, mariadb::settings& s) {
  const auto parts = url.split();
  s.socket = url.take("socket").value_or("");
  if (parts.host.empty() && s.socket.empty())
    url.refuse("it names no host; write mysql://localhost/database");
  s.host = parts.host;
  s.user = parts.user;
  s.password = runtime::password{parts.password};
  s.database = parts.rest;
  if (!parts.port.empty()) s.port = static_cast<std::uint16_t>(std::stoul(parts.port));
}

/// The database's name goes into statements, quoted.
void require_plain_database(const store_url& url, const std::string& name) {
  if (name.empty()) url.refuse("it names no database; write mysql://localhost/database");
  const bool plain = std::none_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 ||
           std::string_view{"`'\"\\/"}.find(c) != std::string_view::npos;
  });
  constexpr std::size_t longest = 64;
  if (!plain || name.size() > longest) {
    url.refuse(
        "the name of its database is longer than 64 bytes, or contains quotes, slashes or control "
        "characters");
  }
}

void read_tls(store_url& url, mariadb::settings& s) {
  s.tls.ca = url.take("ca").value_or("");
  s.tls.cert = url.take("cert").value_or("");
  s.tls.key = url.take("key").value_or("");
  const bool files = !s.tls.ca.empty() || !s.tls.cert.empty() || !s.tls.key.empty();
  s.tls.on = url.take_flag("tls", files);
  s.tls.verify = url.take_flag("tls_verify", true);
  if (files && !s.tls.on) url.refuse("it has certificates and 'tls=0'; remove one of them");
  if (s.tls.key.empty() != s.tls.cert.empty()) url.refuse("the options 'cert' and 'key' need each other");
}

/// The name of the place in errors: "db.example:3306/orders".
std::string place_of(const mariadb::settings& s) {
  std::string place = s.socket;
  if (place.empty()) {
    place = s.host.find(':') == std::string::npos ? s.host : "[" + s.host + "]";
    place.append(":").append(std::to_string(s.port));
  }
  return place.append("/").append(s.database);
}

mariadb::settings settings_of(store_url& url, const client_options& options) {
  mariadb::settings s;
  read_place(url, s);
  require_plain_database(url, s.database);
  read_tls(url, s);
  if (options.password()) s.password = runtime::password{options.password()};
  const auto table = take_qualified_table(url);
  s.schema = table.schema.empty() ? s.database : table.schema;
  s.table = table.name;
  s.create = url.take_flag("create", true);
  if (const auto galera = url.take("galera")) {
    if (*galera != "one-node") url.refuse("the option 'galera' can only be 'one-node'");
    s.one_node = true;
  }
  s.link.place = place_of(s);
  s.link.joins = true;
  s.link.connect_limit = url.take_milliseconds("connect_timeout", s.link.connect_limit, 1ms, 1h);
  take_mode(url, s.link);
  take_notify(url, s.link, &sql::mariadb::poll_of);
  s.link.keep_idle = url.take_duration("keep_idle", 30 * 24h);
  url.refuse_rest(known_options);
  mariadb::load_libmariadb();
  return s;
}

/// Has a connection for the calls of a client, and, from its first wish to acquire, one for the
/// notifications.
class mariadb_link final : public sql::link {
 public:
  /// Begins to connect.
  mariadb_link(runtime::event_loop& on, mariadb::settings s)
      : sql::link{on, s.link,
                  [this, s](const owner_id& client, const std::optional<owner_id>& former,
                            sql::provision make, int stop) {
                    auto made = mariadb::dial(s, client, former, mariadb::role::calls, make, stop);
                    listener_.serve(client);
                    return made;
                  }},
        listens_{!s.link.polling},
        listener_{std::move(s),
                  [this](const owner_id& client, const mariadb::listener::notifications& received) {
                    deliver_notifications_of(client, received);
                  }} {
    connection().start();
  }
  ~mariadb_link() override { mariadb_link::shut(); }
  mariadb_link(const mariadb_link&) = delete;
  mariadb_link& operator=(const mariadb_link&) = delete;

  void send(tickets::request request, on_reply handler) override {
    if (listens_ && std::holds_alternative<tickets::acquire>(request)) listener_.begin();
    sql::link::send(std::move(request), std::move(handler));
  }
  void shut() override {
    listener_.shut();
    sql::link::shut();
  }

 private:
  const bool listens_;
  mariadb::listener listener_;
};

}  // namespace

std::unique_ptr<tickets::link> open_mariadb(store_url& url, const client_options& options,
                                            runtime::event_loop& on) {
  return std::make_unique<mariadb_link>(on, settings_of(url, options));
}

doctor::report diagnose_mariadb(store_url& url, const client_options& options) {
  return mariadb::diagnose(settings_of(url, options));
}

stores::database_schema schema_of_mariadb(store_url& url, const client_options& options) {
  mariadb::settings s = settings_of(url, options);
  s.create = true;  // a schema is made on request
  return make_schema(url, "tables", sql::mariadb::script(s.names()),
                     [s](int stop) { return mariadb::provide(s, stop); });
}

stores::database_schema fences_of_mariadb(store_url& url, const client_options& options) {
  const mariadb::settings s = settings_of(url, options);
  return make_schema(url, "fences", sql::mariadb::fence_script(sql::fences_in(s.schema, '`')),
                     [s](int stop) { return mariadb::provide_fences(s, stop); });
}

}  // namespace holdfast::stores
