#include "bench/redis.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <netdb.h>
#include <string_view>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <vector>

#include "descriptor.hpp"

namespace holdfast::cli {

namespace {

struct redis_place {
  std::string host;  ///< or the path of a Unix socket, which begins with a slash
  std::string port = "6379";
  std::string user;
  std::string password;
};

/// The client that is measured has opened the same URL before: what it would refuse never comes here.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    const bool escape = text[i] == '%' && i + 2 < text.size() &&
                        std::from_chars(&text[i + 1], &text[i + 1] + 2, byte, 16).ptr == &text[i + 1] + 2;
    plain += escape ? static_cast<char>(byte) : text[i];
    if (escape) i += 2;
  }
  return plain;
}

/// The value of an option of a URL, from what stands behind its question mark.
std::string option(std::string_view query, std::string_view key) {
  while (!query.empty()) {
    const auto each = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(each.size() + 1, query.size()));
    if (each.starts_with(key) && each.substr(key.size()).starts_with('=')) {
      return unescaped(each.substr(key.size() + 1));
    }
  }
  return {};
}

/// redis://[USER[:PASSWORD]@]HOST[:PORT][/DB]
redis_place tcp_place(std::string_view url) {
  redis_place place;
  url.remove_prefix(url.find("//") + 2);
  url = url.substr(0, url.find('/'));
  if (const auto at = url.rfind('@'); at != std::string_view::npos) {
    const auto user = url.substr(0, at);
    const auto colon = user.find(':');
    place.user = unescaped(user.substr(0, colon));
    if (colon != std::string_view::npos) place.password = unescaped(user.substr(colon + 1));
    url.remove_prefix(at + 1);
  }
  const auto colon = url.rfind(':');
  if (colon != std::string_view::npos && url.find(']', colon) == std::string_view::npos) {
    place.port = url.substr(colon + 1);
    url = url.substr(0, colon);
  }
  if (url.starts_with('[') && url.ends_with(']')) url = url.substr(1, url.size() - 2);
  place.host = unescaped(url);
  return place;
}

/// unix:PATH[?user=USER&password=PASSWORD]
redis_place local_place(std::string_view path, std::string_view query) {
  if (path.starts_with("//")) path.remove_prefix(2);
  return {unescaped(path), {}, option(query, "user"), option(query, "password")};
}

std::optional<redis_place> place_of(std::string_view url) {
  const auto question = std::min(url.find('?'), url.size());
  const auto query = url.substr(std::min(question + 1, url.size()));
  url = url.substr(0, question);
  constexpr std::string_view local = "unix:";
  if (url.starts_with(local)) return local_place(url.substr(local.size()), query);
  if (url.starts_with("redis://")) return tcp_place(url);
  return std::nullopt;
}

descriptor dial_local(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return {};
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  descriptor socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return {};
  return socket;
}

descriptor dial(const redis_place& place) {
  if (place.host.starts_with('/')) return dial_local(place.host);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(place.host.c_str(), place.port.c_str(), &hints, &found) != 0) return {};
  descriptor connected;
  for (const auto* each = found; each != nullptr && !connected; each = each->ai_next) {
    descriptor socket{::socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (::connect(socket.get(), each->ai_addr, each->ai_addrlen) == 0) connected = std::move(socket);
  }
  ::freeaddrinfo(found);
  return connected;
}

std::string spoken(const std::vector<std::string>& words) {
  std::string text = "*";
  text.append(std::to_string(words.size())).append("\r\n");
  for (const auto& word : words) {
    text.append("$").append(std::to_string(word.size())).append("\r\n").append(word).append("\r\n");
  }
  return text;
}

/// All that the server says to these commands, the last of which makes it hang up.
std::string conversation(const descriptor& socket, const std::string& commands) {
  constexpr timeval patience{5, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (::send(socket.get(), commands.data(), commands.size(), MSG_NOSIGNAL) != std::ssize(commands)) return {};
  std::string said;
  std::array<char, 4096> part{};
  constexpr std::size_t enough = 1 << 20;
  while (said.size() < enough) {
    const auto got = ::recv(socket.get(), part.data(), part.size(), 0);
    if (got <= 0) break;
    said.append(part.data(), static_cast<std::size_t>(got));
  }
  return said;
}

/// Of lines such as "cmdstat_evalsha:calls=3,usec=…".
command_counts counts_in(std::string_view said) {
  command_counts counts;
  constexpr std::string_view prefix = "cmdstat_";
  constexpr std::string_view middle = ":calls=";
  for (auto at = said.find(prefix); at != std::string_view::npos; at = said.find(prefix, at + 1)) {
    const auto line = said.substr(at + prefix.size(), said.find('\r', at) - at - prefix.size());
    const auto calls = line.find(middle);
    if (calls == std::string_view::npos) continue;
    std::int64_t count = 0;
    std::from_chars(line.data() + calls + middle.size(), line.data() + line.size(), count);
    counts[std::string{line.substr(0, calls)}] = static_cast<double>(count);
  }
  return counts;
}

}  // namespace

std::optional<command_counts> counted_by_server(const store_choice& choice) {
  auto place = place_of(url_of(choice));
  if (!place) return std::nullopt;
  if (auto secret = password_of(choice); !secret.empty()) place->password = std::move(secret);
  const auto socket = dial(*place);
  if (!socket) return std::nullopt;
  std::string commands;
  if (!place->password.empty()) {
    commands = place->user.empty() ? spoken({"AUTH", place->password})
                                   : spoken({"AUTH", place->user, place->password});
  }
  commands += spoken({"INFO", "commandstats"}) + spoken({"QUIT"});
  auto counts = counts_in(conversation(socket, commands));
  if (counts.empty()) return std::nullopt;
  return counts;
}

}  // namespace holdfast::cli
