// SPDX-License-Identifier: Apache-2.0
#include "run/also.hpp"

#include <fmt/format.h>

#include "failure.hpp"
#include "percent.hpp"
#include <holdfast/client.hpp>

namespace holdfast::cli {

namespace {

constexpr auto npos = std::string_view::npos;

/// Whether the URL ends with a host, and the text behind it begins with that host's port.
bool is_port(std::string_view url, std::string_view text) {
  const auto slashes = url.find("://");
  if (slashes == npos) return false;
  auto hosts = url.substr(slashes + 3);
  hosts.remove_prefix(hosts.rfind('@') + 1);  // from the beginning if there is none
  if (hosts.find_first_of("/?") != npos) return false;
  const auto last = hosts.substr(hosts.rfind(',') + 1);
  const auto address_end = last.starts_with('[') ? last.find(']') : 0;
  if (last.find(':', address_end) != npos) return false;  // it has one
  const auto digits = text.find_first_not_of("0123456789");
  return digits == npos || (digits != 0 && std::string_view{"/?,"}.find(text[digits]) != npos);
}

/// Whether the place is within an address of IPv6.
bool is_in_brackets(std::string_view text, std::size_t place) {
  const auto open = text.rfind('[', place);
  return open != npos && text.find(']', open) != npos && text.find(']', open) > place;
}

/// Whether the text from the colon on is no part of a password.
bool is_plain(std::string_view text, std::size_t colon) {
  const auto shows = [](std::string_view url, std::string_view end) {
    return masked_url(url).ends_with(end);
  };
  const auto end = text.substr(colon);
  // In `token_base=5:job` the value is no number, and so is masked with the name.
  const auto digit = std::string{text.substr(0, colon)} + '0';
  return shows(text, end) || (end.find('@') == npos && shows(digit, digit));
}

}  // namespace

also_choice also_of(std::string_view text) {
  const std::string shown = masked_url(text);
  const auto scheme_end = text.find(':');
  const auto colon = text.rfind(':');
  const bool has_name = scheme_end != colon && colon + 1 < text.size() && !is_in_brackets(text, colon);
  if (!has_name || !is_plain(text, colon)) {
    throw failure{
        bad_usage,
        fmt::format(
            "--also: '{}' has no name behind the URL: write URL:NAME, such as redis://old:6379:nightly; "
            "in a name, : is %3A and @ is %40",
            shown)};
  }
  const auto url = text.substr(0, colon);
  const auto name = text.substr(colon + 1);
  if (is_port(url, name)) {
    throw failure{bad_usage,
                  fmt::format("--also: '{0}' has a port, and no name behind it: write {0}:NAME", shown)};
  }
  auto plain = decoded(name);
  if (!plain) {
    throw failure{
        bad_usage,
        fmt::format("--also: in '{}' a % is not followed by two hexadecimal digits; % is %25", name)};
  }
  return {std::string{url}, *std::move(plain)};
}

}  // namespace holdfast::cli
