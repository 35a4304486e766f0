// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/protocol/cluster.hpp"

#include <algorithm>
#include <charconv>
#include <tuple>

#include "stores/redis/protocol/replies.hpp"

namespace holdfast::redis {

namespace {

constexpr std::size_t most_servers = 4096;  // the specification advises against more than 1000 nodes

std::uint16_t slot_in(const value& v) {
  if (!v.is(value::kind::number) || v.number < 0 || v.number >= slot_count) throw misunderstood{};
  return static_cast<std::uint16_t>(v.number);
}

/// Empty: a server whose address the cluster does not know.
std::optional<server_address> address_in(const value& v, const server_address& from) {
  if (!v.is(value::kind::list) || v.items.size() < 2) throw misunderstood{};
  const value& host = v.items[0];
  const value& port = v.items[1];
  if (!port.is(value::kind::number)) throw misunderstood{};
  server_address a{from.host, std::to_string(port.number)};
  // Null and "?" stand for an unknown host, of which the first means the one that was asked.
  if (host.is(value::kind::text) && !host.text.empty()) a.host = host.text;
  if (a.host == "?" || port.number == 0) return std::nullopt;
  if (!is_host(a.host) || !is_port(a.port)) throw misunderstood{};
  return a;
}

}  // namespace

void slot_map::append_question(std::string& out) { append(out, {"CLUSTER", "SLOTS"}); }

/// A list of {first slot, last slot, primary, replica, ...}; a server is {host, port, id, ...}.
slot_map slot_map::read(const value& reply, const server_address& from) {
  if (!reply.is(value::kind::list) || reply.items.size() > slot_count) throw misunderstood{};
  slot_map map;
  for (const value& range : reply.items) {
    if (!range.is(value::kind::list) || range.items.size() < 3) throw misunderstood{};
    const std::uint16_t first = slot_in(range.items[0]);
    const std::uint16_t last = slot_in(range.items[1]);
    if (const auto primary = address_in(range.items[2], from)) {
      const std::uint16_t number = map.number_of(*primary);
      if (number == 0) throw misunderstood{};
      for (unsigned slot = first; slot <= last; ++slot) map.owners_.at(slot) = number;
    }
    for (std::size_t i = 3; i < range.items.size() && map.replicas_.size() < most_servers; ++i) {
      const auto replica = address_in(range.items[i], from);
      if (replica && std::find(map.replicas_.begin(), map.replicas_.end(), *replica) == map.replicas_.end())
        map.replicas_.push_back(*replica);
    }
  }
  return map;
}

const server_address* slot_map::primary_of(std::uint16_t slot) const {
  const std::uint16_t number = owners_.at(slot);
  return number == 0 ? nullptr : &primaries_[number - 1];
}

bool slot_map::move(std::uint16_t slot, const server_address& to) {
  const std::uint16_t number = number_of(to);
  if (number != 0) owners_.at(slot) = number;
  return number != 0;
}

std::uint16_t slot_map::number_of(const server_address& primary) {
  const auto found = std::find(primaries_.begin(), primaries_.end(), primary);
  if (found != primaries_.end()) return static_cast<std::uint16_t>(found - primaries_.begin() + 1);
  if (primaries_.size() >= most_servers) return 0;
  primaries_.push_back(primary);
  return static_cast<std::uint16_t>(primaries_.size());
}

std::vector<server_address> slot_map::primaries() const {
  std::vector<bool> used(primaries_.size() + 1);
  for (const std::uint16_t number : owners_) used[number] = true;
  std::vector<server_address> all;
  for (std::size_t i = 0; i < primaries_.size(); ++i) {
    if (used[i + 1]) all.push_back(primaries_[i]);
  }
  const auto order = [](const server_address& a) { return std::tie(a.host, a.port); };
  std::sort(all.begin(), all.end(), [&](const auto& a, const auto& b) { return order(a) < order(b); });
  return all;
}

std::optional<std::uint16_t> slot_map::last_slot_of(const server_address& primary,
                                                    std::uint16_t below) const {
  const auto found = std::find(primaries_.begin(), primaries_.end(), primary);
  if (found == primaries_.end()) return std::nullopt;
  const auto number = static_cast<std::uint16_t>(found - primaries_.begin() + 1);
  const auto last = std::find(owners_.rend() - below, owners_.rend(), number);
  if (last == owners_.rend()) return std::nullopt;
  return static_cast<std::uint16_t>(owners_.rend() - last - 1);
}

std::vector<server_address> slot_map::gained_in(const slot_map& later) const {
  std::vector<server_address> all;
  for (unsigned slot = 0; slot < slot_count; ++slot) {
    const server_address* const before = primary_of(static_cast<std::uint16_t>(slot));
    const server_address* const after = later.primary_of(static_cast<std::uint16_t>(slot));
    if (after == nullptr || (before != nullptr && *before == *after)) continue;
    if (std::find(all.begin(), all.end(), *after) == all.end()) all.push_back(*after);
  }
  return all;
}

bool slot_map::differs_from(const slot_map& later) const {
  for (unsigned slot = 0; slot < slot_count; ++slot) {
    const server_address* const before = primary_of(static_cast<std::uint16_t>(slot));
    const server_address* const after = later.primary_of(static_cast<std::uint16_t>(slot));
    if (before != nullptr && (after == nullptr || *before != *after)) return true;
  }
  return false;
}

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
