// SPDX-License-Identifier: Apache-2.0
#include "base/url.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <utility>
#include <vector>

#include "base/name.hpp"
#include "holdfast/client.hpp"
#include "holdfast/error.hpp"

namespace holdfast {

namespace {

constexpr std::string_view mask = "***";

/// The end of the scheme, where there is one: letters, digits, +, - and . before the first colon.
std::size_t scheme_end(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0) return std::string_view::npos;
  const bool plain = std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(colon), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '-' || c == '.';
  });
  return plain ? colon : std::string_view::npos;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Empty if an escape is broken or encodes a NUL.
std::optional<std::string> decoded(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain.push_back(text[i]);
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = hex_digit(text[i + 1]);
    const int low = hex_digit(text[i + 2]);
    if (high < 0 || low < 0 || high + low == 0) return std::nullopt;
    plain.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return plain;
}

/// The text decoded; broken escapes were found when the URL was read.
std::string plain(std::string_view text) { return decoded(text).value_or(std::string{}); }

bool is_secret(std::string_view raw_key, std::string_view value) {
  // Added to fencing tokens: without it a masked URL would be one of other tokens.
  const bool is_number = value.find_first_not_of("0123456789") == std::string_view::npos;
  if (raw_key == "token_base" && is_number) return false;
  std::string key = decoded(raw_key).value_or(std::string{raw_key});
  std::transform(key.begin(), key.end(), key.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; });
  constexpr std::array<std::string_view, 6> parts{"pass", "pwd", "secret", "auth", "token", "acl"};
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view w) { return key.find(w) != std::string::npos; });
}

/// Whether the rest of the URL is a path, in which an @ has no meaning.
bool is_path_scheme(std::string_view scheme) {
  return scheme == "sqlite" || scheme == "memory" || scheme == "unix";
}

std::string masked_once(std::string_view url) {
  // Masks too much rather than too little, because drivers differ in what they accept: all from the first
  // colon of the user part to the last @, and all from the = of a secret option, wherever one may begin, to
  // the next &.
  std::vector<bool> hidden(url.size(), false);
  const auto hide = [&](std::size_t from, std::size_t to) {
    std::fill(hidden.begin() + static_cast<std::ptrdiff_t>(from),
              hidden.begin() + static_cast<std::ptrdiff_t>(to), true);
  };
  const std::size_t scheme = scheme_end(url);
  std::size_t start = scheme == std::string_view::npos ? 0 : scheme + 1;
  if (start != 0 && !url.substr(start).starts_with("//") && !is_path_scheme(url.substr(0, scheme))) {
    start = 0;  // the apparent scheme may be a user: "app:password@host"
  }
  if (const std::size_t at = url.rfind('@'); at != std::string_view::npos && at > start) {
    const std::size_t colon = url.find(':', start);
    if (colon < at) hide(colon + 1, at);
  }
  // "host=a password=b", as libpq has it, "host:6380,password=b", "Server=a;Pwd=b": in quotes, a password may
  // go on behind a blank, a comma or a semicolon.
  for (std::size_t i = 0; i != std::string_view::npos; i = url.find_first_of(" \t,;", i + 1)) {
    const std::size_t equals = url.find('=', i);
    if (equals == std::string_view::npos) break;
    const std::string_view key = url.substr(i, equals - i);
    if (key.find_first_of(":/?&") == std::string_view::npos && is_secret(key, url.substr(equals + 1)))
      hide(equals + 1, url.size());
  }
  for (std::size_t i = url.find_first_of("?&"); i != std::string_view::npos;
       i = url.find_first_of("?&", i + 1)) {
    const std::size_t end = std::min(url.find('&', i + 1), url.size());
    const std::size_t equals = url.find('=', i + 1);
    if (equals >= end) continue;
    if (is_secret(url.substr(i + 1, equals - i - 1), url.substr(equals + 1, end - equals - 1)))
      hide(equals + 1, end);
  }
  std::string shown;
  for (std::size_t i = 0; i < url.size(); ++i) {
    if (!hidden[i]) {
      shown += url[i];
    } else if (i == 0 || !hidden[i - 1]) {
      shown += mask;
    }
  }
  return shown;
}

}  // namespace

std::string masked_url(std::string_view url) {
  // Hidden characters may have separated parts that form a secret now: again, until nothing more is found.
  std::string shown = masked_once(url);
  for (std::string next = masked_once(shown); next != shown; next = masked_once(shown))
    shown = std::move(next);
  return shown;
}

store_url::store_url(std::string_view text) : masked_{masked_url(text)} {
  if (const auto problem = problem_of_text(text, 4096)) {
    masked_ = "(unreadable)";
    refuse(*problem);
  }
  constexpr std::array<std::string_view, 2> masked_options{"password=***", "auth=***"};
  bool has_mask = text.find(":***@") != std::string_view::npos;
  for (const std::string_view option : masked_options) {
    for (auto at = text.find(option); at != std::string_view::npos; at = text.find(option, at + 1)) {
      const std::size_t end = at + option.size();
      has_mask = has_mask || end == text.size() || text[end] == '&';
    }
  }
  has_masked_password_ = has_mask && masked_ == text;
  const std::size_t colon = scheme_end(text);
  if (colon == std::string_view::npos) {
    refuse("it has no scheme; write for example redis://127.0.0.1 or sqlite:/var/lib/app/locks.db");
  }
  scheme_ = text.substr(0, colon);
  text.remove_prefix(colon + 1);
  std::string_view query;
  if (const std::size_t question = text.find('?'); question != std::string_view::npos) {
    query = text.substr(question + 1);
    text = text.substr(0, question);
    may_split_password_ =
        query.find('@') != std::string_view::npos && text.find('@') == std::string_view::npos;
  }
  const auto path = decoded(text);
  if (!path) refuse("a % is not followed by two hexadecimal digits, or encodes a NUL byte");
  path_ = *path;
  raw_path_ = text;
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(part.size() + 1, query.size()));
    const std::size_t equals = part.find('=');
    const auto key = decoded(part.substr(0, equals));
    const auto value =
        decoded(equals == std::string_view::npos ? std::string_view{} : part.substr(equals + 1));
    if (!key || !value)
      refuse("a % in an option is not followed by two hexadecimal digits, or encodes a NUL byte");
    if (key->empty()) refuse("an option has no name");
    if (problem_of_text(*key, 4096)) refuse("an option's name contains control characters");
    if (!options_.emplace(*key, *value).second) refuse("the option '" + *key + "' is given twice");
  }
}

/// `host[:port]`, or `[v6][:port]`.
std::pair<std::string, std::string> store_url::host_and_port(std::string_view text) const {
  const bool is_v6 = text.starts_with('[');
  if (is_v6 && text.find(']') == std::string_view::npos) refuse("the [ before the address has no ]");
  const std::string_view host = is_v6 ? text.substr(1, text.find(']') - 1) : text.substr(0, text.find(':'));
  text.remove_prefix(is_v6 ? host.size() + 2 : host.size());
  if (!text.empty() && !text.starts_with(':')) refuse("the host is neither a name nor an address");
  const std::string_view port = text.empty() ? text : text.substr(1);
  if (host.find(',') != std::string_view::npos || port.find(',') != std::string_view::npos)
    refuse("it names several hosts, and " + scheme_ + ":// takes one there");
  const bool digits = std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
  const bool fits = digits && port.size() <= 5 &&
                    (text.empty() || (!port.empty() && std::stoi(std::string{port}) > 0 &&
                                      std::stoi(std::string{port}) <= 65535));
  if (!fits) refuse("the port is not a number from 1 to 65535");
  return {plain(host), plain(port)};
}

std::vector<std::pair<std::string, std::string>> store_url::hosts_and_ports(std::string_view text) const {
  std::vector<std::pair<std::string, std::string>> hosts;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    hosts.push_back(host_and_port(text.substr(0, comma)));
    if (hosts.back().first.empty()) refuse("one of its hosts is empty");
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  return hosts;
}

std::string_view store_url::after_slashes() const {
  const std::string_view left = raw_path_;
  if (!left.starts_with("//")) refuse("//host is missing after the scheme");
  return left.substr(2);
}

namespace {

struct raw_authority {
  std::string_view user;
  std::string_view password;
  std::string_view hosts;
  std::string_view rest;
};

/// The last @ ends the user and the password, whatever is in them.
raw_authority raw_authority_in(std::string_view left) {
  raw_authority parts;
  const std::size_t at = left.rfind('@');
  const std::size_t slash = left.find('/', at == std::string_view::npos ? 0 : at);
  if (slash != std::string_view::npos) parts.rest = left.substr(slash + 1);
  left = left.substr(0, slash);
  if (at != std::string_view::npos) {
    parts.user = left.substr(0, at);
    left.remove_prefix(at + 1);
    if (const std::size_t colon = parts.user.find(':'); colon != std::string_view::npos) {
      parts.password = parts.user.substr(colon + 1);
      parts.user = parts.user.substr(0, colon);
    }
  }
  parts.hosts = left;
  return parts;
}

}  // namespace

store_url::authority store_url::split() const {
  const raw_authority parts = raw_authority_in(after_slashes());
  auto [host, port] = host_and_port(parts.hosts);
  return {plain(parts.user), plain(parts.password), std::move(host), std::move(port), plain(parts.rest)};
}

store_url::ensemble store_url::split_many() const {
  std::string_view left = after_slashes();
  const std::size_t slash = left.find('/');
  ensemble all;
  if (slash != std::string_view::npos) all.rest = plain(left.substr(slash + 1));
  left = left.substr(0, slash);
  if (left.find('@') != std::string_view::npos) refuse("this store takes no user before its hosts");
  all.hosts = hosts_and_ports(left);
  return all;
}

store_url::ensemble store_url::split_many_with_user() const {
  const raw_authority parts = raw_authority_in(after_slashes());
  return {plain(parts.user), plain(parts.password), hosts_and_ports(parts.hosts), plain(parts.rest)};
}

std::optional<std::string> store_url::take(const std::string& key) {
  const auto found = options_.find(key);
  if (found == options_.end()) return std::nullopt;
  std::string value = std::move(found->second);
  options_.erase(found);
  return value;
}

bool store_url::take_flag(const std::string& key, bool otherwise) {
  const auto text = take(key);
  if (!text) return otherwise;
  constexpr std::array<std::string_view, 4> yes{"1", "true", "yes", "on"};
  constexpr std::array<std::string_view, 4> no{"0", "false", "no", "off"};
  if (std::find(yes.begin(), yes.end(), *text) != yes.end()) return true;
  if (std::find(no.begin(), no.end(), *text) != no.end()) return false;
  refuse("the option '" + key + "' is neither 1 nor 0");
}

std::int64_t store_url::take_number(const std::string& key, std::int64_t otherwise, std::int64_t least,
                                    std::int64_t most) {
  const auto text = take(key);
  if (!text) return otherwise;
  std::int64_t n = 0;
  const auto [end, problem] = std::from_chars(text->data(), text->data() + text->size(), n);
  if (problem != std::errc{} || end != text->data() + text->size() || n < least || n > most) {
    refuse("the option '" + key + "' is not a number from " + std::to_string(least) + " to " +
           std::to_string(most));
  }
  return n;
}

duration store_url::take_duration(const std::string& key, duration otherwise) {
  const auto text = take(key);
  if (!text) return otherwise;
  const auto length = parse_duration(*text);
  if (!length) {
    refuse("the option '" + key + "' is not a duration such as 250ms, 30s, 5m, 12h, 7d or 1h30m");
  }
  return *length;
}

std::chrono::milliseconds store_url::take_milliseconds(const std::string& key,
                                                       std::chrono::milliseconds otherwise,
                                                       std::chrono::milliseconds least,
                                                       std::chrono::milliseconds most) {
  const duration given = take_duration(key, otherwise);
  if (given < least || given > most) {
    refuse("the option '" + key + "' is not between " + std::to_string(least.count()) + " ms and " +
           std::to_string(most.count() / 1000) + " s");
  }
  return std::chrono::duration_cast<std::chrono::milliseconds>(given);
}

void store_url::refuse_rest(std::string_view known) const {
  if (options_.empty()) return;
  refuse("unknown option '" + options_.begin()->first + "'; " + scheme_ + ": has " + std::string{known} +
         (known.empty() ? "" : ", ") + "token_base (added to every fencing token)");
}

void store_url::refuse(const std::string& reason) const {
  throw error{errc::invalid_url,
              "the store URL " + masked_ + " cannot be used: " + reason +
                  (may_split_password_ ? "; if its password has a question mark, write that as %3F" : "")};
}

}  // namespace holdfast
