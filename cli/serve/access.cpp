// SPDX-License-Identifier: Apache-2.0
#include "serve/access.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>

#include "failure.hpp"
#include "output/text.hpp"

namespace holdfast::cli {

namespace {

std::string lower_case(std::string_view text) {
  std::string result{text};
  for (char& each : result) {
    if (each >= 'A' && each <= 'Z') each = static_cast<char>(each - 'A' + 'a');
  }
  return result;
}

/// `name`, of `name:80`; `[::1]` stays.
std::string without_port(const std::string& host) {
  const auto colon = host.rfind(':');
  const auto bracket = host.rfind(']');
  const bool is_port = colon != std::string::npos && (bracket == std::string::npos || bracket < colon);
  return is_port ? host.substr(0, colon) : host;
}

bool is_host(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char each) {
    return (each >= 'a' && each <= 'z') || (each >= '0' && each <= '9') || each == '-' || each == '.' ||
           each == ':' || each == '[' || each == ']';
  });
}

}  // namespace

access_rules::access_rules(const listen_address& where, const std::vector<std::string>& further_hosts,
                           bool has_tls)
    : has_tls_{has_tls} {
  if (where.is_loopback) hosts_.insert({"localhost", "127.0.0.1", "[::1]"});
  if (!where.is_any) hosts_.insert(lower_case(in_url(where.host)));
  for (const auto& each : further_hosts) {
    const auto name = lower_case(each);
    if (!is_host(name)) throw failure{bad_usage, fmt::format("--host: '{}' is not the name of a host", each)};
    hosts_.insert(name);
  }
  if (hosts_.empty()) {
    throw failure{bad_usage,
                  "an address of all interfaces has no name: give --host NAME, as it stands in the "
                  "URLs of its users"};
  }
}

std::optional<http_reply> access_rules::refuse(const http_request& request, bool is_page) const {
  const auto host = lower_case(request.host);
  if (!hosts_.contains(host) && !hosts_.contains(without_port(host))) {
    return error_reply(
        421, "wrong_host",
        fmt::format("the Host header is '{}', which is no name of this server; if it is to be, "
                    "start it with --host",
                    printable(request.host)));
  }
  if (request.has_origin && !is_same_origin(request)) {
    return error_reply(403, "wrong_origin",
                       fmt::format("a page of another site asks: '{}'", printable(request.origin)));
  }
  // Browsers send no Origin with an image, whose address may still cost the store a question.
  const bool is_foreign = request.fetch_site == "cross-site" || request.fetch_site == "same-site";
  if (is_foreign && !is_page) return error_reply(403, "wrong_origin", "a page of another site asks");
  return std::nullopt;
}

bool access_rules::is_same_origin(const http_request& request) const {
  const auto origin = lower_case(request.origin);
  const auto host = lower_case(request.host);
  // Without TLS here there may be some in front of it, at a proxy.
  return origin == "https://" + host || (!has_tls_ && origin == "http://" + host);
}

}  // namespace holdfast::cli
