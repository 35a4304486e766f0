// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>

#include "stores/scheme.hpp"
#include "stores/zookeeper/link/diagnosis.hpp"
#include "stores/zookeeper/link/link.hpp"
#include "stores/zookeeper/protocol/paths.hpp"

namespace holdfast::stores {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr std::string_view known_options =
    "session_timeout (how long the servers wait for a silent client, within their own bounds), "
    "connect_timeout, layout (curator or kazoo), auth (digest:user:password), acl (world, auth, or "
    "digest:user:hash: who may touch the nodes)";

zookeeper::layout take_layout(store_url& url) {
  const std::string given = url.take("layout").value_or("curator");
  if (given == "curator") return zookeeper::layout::curator;
  if (given == "kazoo") return zookeeper::layout::kazoo;
  url.refuse("the option 'layout' is neither 'curator' nor 'kazoo'");
}

/// The password may come from the client's options instead of the URL.
void take_access(store_url& url, const runtime::password& password, zookeeper::settings& s) {
  constexpr std::string_view scheme = "digest:";
  if (const auto auth = url.take("auth")) {
    s.auth = auth->starts_with(scheme) ? auth->substr(scheme.size()) : std::string{};
    const bool has_password = s.auth.find(':') != std::string::npos;
    if (!has_password) s.password = password;
    if (s.auth.empty() || s.auth.starts_with(':') || (!has_password && !password.is_given())) {
      url.refuse("the option 'auth' is not of the form digest:user:password");
    }
  } else if (password.is_given()) {
    url.refuse("a password is given without a user; add auth=digest:user");
  }
  const std::string acl = url.take("acl").value_or("world");
  using access = zookeeper::settings::access;
  if (acl == "auth") {
    if (s.auth.empty()) url.refuse("the option 'acl=auth' needs the option 'auth'");
    s.acl = access::creator;
  } else if (acl.starts_with("digest:") && acl.find(':', 7) != std::string::npos) {
    s.acl = access::digest;
    s.acl_id = acl.substr(7);
  } else if (acl != "world") {
    url.refuse("the option 'acl' is none of world, auth and digest:user:hash");
  }
}

zookeeper::settings settings_of(store_url& url, const client_options& options) {
  zookeeper::settings s;
  const auto where = url.split_many();
  if (where.hosts.empty()) url.refuse("it names no server; write zk://localhost");
  for (const auto& [host, port] : where.hosts) s.servers.push_back({host, port.empty() ? "2181" : port});
  if (!where.rest.empty()) s.recipes.root = '/' + where.rest;
  if (s.recipes.root.ends_with('/')) s.recipes.root.pop_back();
  if (const auto problem = zookeeper::problem_of_root(s.recipes.root)) {
    url.refuse("the path after its servers is no path of a node: " + *problem);
  }
  const auto ttl = std::clamp(std::chrono::duration_cast<milliseconds>(options.locks().ttl()),
                              milliseconds{100}, milliseconds{24h});
  s.session_timeout = url.take_milliseconds("session_timeout", ttl, 100ms, 24h);
  s.connect_limit = url.take_milliseconds("connect_timeout", s.connect_limit, 1ms, 1h);
  s.recipes.timeout = s.session_timeout;
  s.recipes.layout = take_layout(url);
  take_access(url, runtime::password{options.password()}, s);
  url.refuse_rest(known_options);
  return s;
}

}  // namespace

std::unique_ptr<tickets::link> open_zookeeper(store_url& url, const client_options& options,
                                              runtime::event_loop& on) {
  return std::make_unique<zookeeper::link>(on, settings_of(url, options));
}

doctor::report diagnose_zookeeper(store_url& url, const client_options& options) {
  // The same rights by default are less than the same rights by choice.
  store_url copy = url;
  const bool asks_for_world = copy.take("acl") == "world";
  return zookeeper::diagnose(settings_of(url, options), asks_for_world);
}

}  // namespace holdfast::stores
