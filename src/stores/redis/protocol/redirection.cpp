#include "stores/redis/protocol/redirection.hpp"

#include <charconv>
#include <string>

#include "stores/redis/protocol/keys.hpp"

namespace holdfast::redis {

/// "MOVED 3999 127.0.0.1:6381". IPv6 addresses have no brackets.
std::optional<redirection> redirection_in(std::string_view error) {
  redirection r;
  if (error.starts_with("MOVED ")) {
    r.for_good = true;
    error.remove_prefix(6);
  } else if (error.starts_with("ASK ")) {
    error.remove_prefix(4);
  } else {
    return std::nullopt;
  }
  const auto [end, problem] = std::from_chars(error.data(), error.data() + error.size(), r.slot);
  if (problem != std::errc{} || r.slot >= slot_count) return std::nullopt;
  error.remove_prefix(static_cast<std::size_t>(end - error.data()));
  const std::size_t colon = error.rfind(':');
  if (!error.starts_with(' ') || colon == std::string_view::npos) return std::nullopt;
  const std::string_view host = error.substr(1, colon - 1);
  const std::string_view port = error.substr(colon + 1);
  if (!(host.empty() || is_host(host)) || !is_port(port)) return std::nullopt;
  r.to = {std::string{host}, std::string{port}};
  return r;
}

}  // namespace holdfast::redis
