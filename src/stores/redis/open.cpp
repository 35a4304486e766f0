#include <algorithm>
#include <chrono>
#include <limits>

#include "stores/redis/link/link.hpp"
#include "stores/scheme.hpp"

namespace holdfast::stores {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr std::string_view known_options =
    "prefix (of every lock's key), keep_idle (how long an unused name's token is remembered), "
    "replicas and replicas_wait (how many have to acknowledge a grant, and how soon), "
    "failover_guard (how long a server grants nothing that may have forgotten locks; 0: not at all), "
    "connect_timeout, answer_timeout, db; "
    "with rediss: ca, cert, key, tls_name, tls_verify; "
    "with unix: user, password";

/// `redis://[user[:password]@]host[:port][/db]`
void read_host(const store_url& url, redis::settings& s) {
  const auto parts = url.split();
  if (parts.host.empty()) url.refuse("it names no host; write redis://localhost");
  s.host = parts.host;
  if (!parts.port.empty()) s.port = parts.port;
  if (!parts.password.empty()) {
    s.password = parts.password;
    if (!parts.user.empty()) s.user = parts.user;
  } else if (!parts.user.empty()) {
    s.user = parts.user;  // its password may come with the client's options
  }
  if (parts.rest.empty()) return;
  const bool digits =
      parts.rest.find_first_not_of("0123456789") == std::string::npos && parts.rest.size() <= 5;
  if (!digits) url.refuse("the path after the host is not the number of a database, as in redis://host/0");
  s.database = static_cast<std::uint32_t>(std::stoul(parts.rest));
}

/// `unix:/path/to/socket`, and, because people write it, `unix:///path/to/socket`.
void read_path(store_url& url, redis::settings& s) {
  s.path = url.path().starts_with("//") ? url.path().substr(2) : url.path();
  if (!s.path.starts_with('/'))
    url.refuse("it has no absolute path of a socket; write for example unix:/run/redis/redis.sock");
  s.user = url.take("user").value_or(s.user);
  s.password = url.take("password").value_or("");
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

}  // namespace

std::unique_ptr<runtime::backend> open_redis(store_url& url, const client_options& options,
                                             runtime::event_loop& on) {
  redis::settings s;
  if (url.scheme() == "unix")
    read_path(url, s);
  else
    read_host(url, s);
  if (url.scheme() == "rediss") read_tls(url, s);
  if (!options.password().empty()) s.password = options.password();
  s.database = static_cast<std::uint32_t>(url.take_number("db", s.database, 0, 99'999));
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
  speech.replicas = static_cast<unsigned>(url.take_number("replicas", 0, 0, 100));
  speech.replicas_wait = url.take_milliseconds("replicas_wait", speech.replicas_wait, 1ms, 1h);
  speech.guard = url.take_milliseconds("failover_guard", speech.guard, 0ms, 24h * 365);
  if (speech.replicas > 0 && speech.replicas_wait >= s.answer_limit)
    url.refuse("the option 'replicas_wait' is not shorter than 'answer_timeout'");
  url.refuse_rest(known_options);
  return std::make_unique<runtime::connected<redis::link>>(on, std::move(s));
}

}  // namespace holdfast::stores
