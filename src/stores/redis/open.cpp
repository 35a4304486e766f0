// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <limits>

#include "stores/quorum/link/quorum_link.hpp"
#include "stores/redis/link/cluster/cluster_link.hpp"
#include "stores/redis/link/diagnosis.hpp"
#include "stores/redis/link/fence_library.hpp"
#include "stores/redis/link/link.hpp"
#include "stores/redis/protocol/scripts.hpp"
#include "stores/redis/protocol/sentinel_replies.hpp"
#include "stores/scheme.hpp"

namespace holdfast::stores {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr std::size_t least_servers = 3;  // of a quorum
constexpr std::size_t most_servers = 9;
constexpr milliseconds least_restart_guard = 2 * redis::dialect::furthest_number;

bool has_tls(const store_url& url) {
  return url.scheme().starts_with("rediss") || url.scheme() == "redlocks";
}

/// Those of the URL's scheme.
std::string options_of_scheme(const store_url& url, const redis::settings& s) {
  std::string all =
      "prefix (of every lock's key), keep_idle (how long an unused name's token is remembered), ";
  if (s.is_quorum()) {
    all +=
        "node_timeout (after so long a server counts as silent), restart_guard (how long a server that "
        "may have forgotten locks has no vote; 0: it has one at once), ";
  } else {
    all +=
        "replicas and replicas_wait (how many have to acknowledge a grant, and how soon), "
        "failover_guard (how long a server that may have forgotten locks grants nothing; 0: not at all), "
        "former_primary (how long after a failover the former primary may still take writes), ";
  }
  all += "connect_timeout, answer_timeout";
  if (!s.is_cluster()) all += ", db";
  if (has_tls(url)) all += ", ca, cert, key, tls_name, tls_verify";
  if (s.has_sentinels()) all += ", sentinel_user, sentinel_password";
  if (url.scheme() == "unix") all += ", user, password";
  return all;
}

void read_login(const std::string& user, const std::string& password, redis::credentials& login) {
  login.password = runtime::password{password};
  if (!user.empty()) login.user = user;  // its password may come with the client's options
}

void read_database(const store_url& url, const std::string& text, const std::string& example,
                   redis::settings& s) {
  if (text.empty()) return;
  const bool digits = text.find_first_not_of("0123456789") == std::string::npos && text.size() <= 5;
  if (!digits) url.refuse("the path after the host is not the number of a database, as in " + example);
  s.database = static_cast<std::uint32_t>(std::stoul(text));
}

/// `redis://[user[:password]@]host[:port][/db]`
void read_host(const store_url& url, redis::settings& s) {
  const auto parts = url.split();
  if (parts.host.empty()) url.refuse("it names no host; write redis://localhost");
  s.server.host = parts.host;
  if (!parts.port.empty()) s.server.port = parts.port;
  read_login(parts.user, parts.password, s.login);
  read_database(url, parts.rest, "redis://host/0", s);
}

std::vector<redis::server_address> addresses_in(const store_url& url,
                                                const std::vector<std::pair<std::string, std::string>>& hosts,
                                                const char* usual_port) {
  std::vector<redis::server_address> all;
  for (const auto& [host, port] : hosts) {
    const bool has_blank =
        std::any_of(host.begin(), host.end(), [](char c) { return c == ' ' || c == '\t'; });
    if (has_blank)
      url.refuse("there is a blank beside the host '" + host + "'; write the hosts with commas alone");
    all.push_back({host, port.empty() ? usual_port : port});
  }
  return all;
}

/// `redis+sentinel://[user[:password]@]host[:port],host[:port]…/PRIMARY[/db]`
void read_sentinels(store_url& url, redis::settings& s) {
  const auto parts = url.split_many_with_user();
  const std::string example = "redis+sentinel://host1,host2,host3/mymaster";
  if (parts.hosts.empty()) url.refuse("it names no Sentinel; write " + example);
  s.sentinel.addresses = addresses_in(url, parts.hosts, "26379");
  read_login(parts.user, parts.password, s.login);
  const std::size_t slash = parts.rest.find('/');
  s.sentinel.primary = parts.rest.substr(0, slash);
  if (s.sentinel.primary.empty())
    url.refuse("it does not name the primary that the Sentinels monitor; write " + example);
  if (!redis::is_primary_name(s.sentinel.primary))
    url.refuse("the name of the primary has blanks, special characters, or more than 255 bytes");
  if (slash != std::string::npos) read_database(url, parts.rest.substr(slash + 1), example + "/0", s);
  read_login(url.take("sentinel_user").value_or(""), url.take("sentinel_password").value_or(""),
             s.sentinel.login);
  if (url.has_masked_password() && s.sentinel.login.password.current() == "***")
    url.refuse("an outer holdfast run has masked its sentinel_password; give the program a URL of its own");
}

/// `redis+cluster://[user[:password]@]host[:port],host[:port]…`
void read_cluster(const store_url& url, redis::settings& s) {
  const auto parts = url.split_many_with_user();
  if (parts.hosts.empty()) url.refuse("it names no node; write redis+cluster://host1,host2,host3");
  if (!parts.rest.empty() && parts.rest != "0")
    url.refuse("a cluster has no databases; write nothing behind the nodes");
  s.cluster = addresses_in(url, parts.hosts, "6379");
  read_login(parts.user, parts.password, s.login);
}

/// `redlock://[user[:password]@]host[:port],host[:port],host[:port]…[/db]`
void read_quorum(const store_url& url, redis::settings& s) {
  const std::string example = "redlock://host1,host2,host3";
  const auto parts = url.split_many_with_user();
  for (redis::server_address& next : addresses_in(url, parts.hosts, "6379")) {
    // Names of hosts have no case, and clients have to name the same set.
    std::transform(next.host.begin(), next.host.end(), next.host.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    if (std::find(s.quorum.begin(), s.quorum.end(), next) != s.quorum.end())
      url.refuse("it names " + next.place() + " twice, which has one vote");
    s.quorum.push_back(std::move(next));
  }
  if (s.quorum.size() < least_servers || s.quorum.size() > most_servers || s.quorum.size() % 2 == 0) {
    url.refuse("it names " + std::to_string(s.quorum.size()) +
               (s.quorum.size() == 1 ? " server" : " servers") +
               "; a majority of 3, 5, 7 or 9 independent ones has to grant (an even number survives no "
               "more losses than one less); write " +
               example);
  }
  read_database(url, parts.rest, example + "/0", s);
  read_login(parts.user, parts.password, s.login);
  s.speech.votes = true;
}

/// `unix:/path/to/socket`, and, because people write it, `unix:///path/to/socket`.
void read_path(store_url& url, redis::settings& s) {
  std::string& path = s.server.path;
  path = url.path().starts_with("//") ? url.path().substr(2) : url.path();
  if (!path.starts_with('/'))
    url.refuse("it has no absolute path of a socket; write for example unix:/run/redis/redis.sock");
  read_login(url.take("user").value_or(""), url.take("password").value_or(""), s.login);
}

void read_tls(store_url& url, redis::settings& s) {
  s.tls.on = true;
  s.tls.ca = url.take("ca").value_or("");
  s.tls.cert = url.take("cert").value_or("");
  s.tls.key = url.take("key").value_or("");
  s.tls.name = url.take("tls_name").value_or("");
  s.tls.verify = url.take_flag("tls_verify", true);
  if (!s.tls.key.empty() && s.tls.cert.empty()) url.refuse("the option 'key' needs a 'cert'");
}

redis::settings settings_of(store_url& url, const client_options& options) {
  redis::settings s;
  if (url.scheme() == "unix")
    read_path(url, s);
  else if (url.scheme().ends_with("+sentinel"))
    read_sentinels(url, s);
  else if (url.scheme().ends_with("+cluster"))
    read_cluster(url, s);
  else if (url.scheme().starts_with("redlock"))
    read_quorum(url, s);
  else
    read_host(url, s);
  if (has_tls(url)) read_tls(url, s);
  if (options.password()) s.login.password = runtime::password{options.password()};
  if (!s.is_cluster()) s.database = static_cast<std::uint32_t>(url.take_number("db", s.database, 0, 99'999));
  s.connect_limit = url.take_milliseconds("connect_timeout", s.connect_limit, 1ms, 1h);
  s.answer_limit = url.take_milliseconds("answer_timeout", s.answer_limit, 100ms, 1h);

  redis::dialect& speech = s.speech;
  speech.prefix = url.take("prefix").value_or(speech.prefix);
  const bool plain = std::none_of(speech.prefix.begin(), speech.prefix.end(),
                                  [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  if (!plain || speech.prefix.size() > 512) {
    url.refuse("the option 'prefix' is longer than 512 bytes, or contains control characters");
  }
  speech.keep = url.take_milliseconds("keep_idle", speech.keep, 1s, 24h * 3650);
  if (s.is_quorum()) {
    s.node_timeout = url.take_milliseconds("node_timeout", s.node_timeout, 10ms, 1min);
    speech.guard_option = "restart_guard";
    speech.guard = url.take_milliseconds("restart_guard", speech.guard, 0ms, 25h);
    if (speech.guard != 0ms && speech.guard < least_restart_guard)
      url.refuse(
          "the option 'restart_guard' is shorter than 2s, and a server accepts tokens up to a second ahead "
          "of its "
          "clock; write 2s or more, or 0 for no guard");
  } else {
    speech.replicas = static_cast<unsigned>(url.take_number("replicas", 0, 0, 100));
    speech.replicas_wait = url.take_milliseconds("replicas_wait", speech.replicas_wait, 1ms, 1h);
    speech.guard = url.take_milliseconds("failover_guard", speech.guard, 0ms, 25h);
    speech.former_primary = url.take_milliseconds("former_primary", speech.former_primary, 0ms, 1h);
  }
  if (speech.replicas > 0 && speech.replicas_wait >= s.answer_limit)
    url.refuse("the option 'replicas_wait' is not shorter than 'answer_timeout'");
  if (speech.former_primary.count() > 0 && speech.guard.count() == 0)
    url.refuse("the option 'former_primary' needs a 'failover_guard'");
  url.refuse_rest(options_of_scheme(url, s));
  return s;
}

}  // namespace

std::unique_ptr<tickets::link> open_redis(store_url& url, const client_options& options,
                                          runtime::event_loop& on) {
  redis::settings s = settings_of(url, options);
  if (s.is_cluster()) return std::make_unique<redis::cluster_link>(on, std::move(s));
  if (s.is_quorum()) return std::make_unique<quorum::quorum_link>(on, std::move(s));
  return std::make_unique<redis::link>(on, std::move(s));
}

doctor::report diagnose_redis(store_url& url, const client_options& options) {
  return redis::diagnose(settings_of(url, options), options.locks().ttl() + options.locks().grace());
}

stores::database_schema fences_of_redis(store_url& url, const client_options& options) {
  const redis::settings s = settings_of(url, options);
  if (s.is_quorum()) {
    throw error{
        errc::invalid_argument,
        url.masked() +
            " has no fences, because data is not in a majority of servers; give the URL of the server "
            "that has the data, redis://HOST"};
  }
  return make_schema(url, "fences", std::string{redis::text::fence_library},
                     [s](int stop) { return redis::provide_library(s, redis::text::fence_library, stop); });
}

}  // namespace holdfast::stores
