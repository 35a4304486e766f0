// SPDX-License-Identifier: Apache-2.0
#include "stores/zookeeper/protocol/layout.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <span>
#include <utility>

namespace holdfast::zookeeper {

namespace {

struct marker {
  std::string_view text;
  role wants;
};

constexpr auto curator_markers = std::to_array<marker>({
    {"-lock-", role::mutex},
    {"-__WRIT__", role::writer},
    {"-__READ__", role::reader},
    {"-latch-", role::latch},
    {"-lease-", role::lease},
});
// kazoo's WriteLock, Lock and Election have the same node names, so each may be a writer. kazoo has no leases
// of this kind; Holdfast's get a name that kazoo's locks do not count.
constexpr auto kazoo_markers = std::to_array<marker>({
    {"__lock__", role::writer},
    {"__lock__", role::mutex},
    {"__lock__", role::latch},
    {"__rlock__", role::reader},
    {"__lease__", role::lease},
});

std::span<const marker> markers(layout style) {
  return style == layout::curator ? std::span{curator_markers} : std::span{kazoo_markers};
}

std::string_view marker_of(layout style, role wants) {
  const auto all = markers(style);
  return std::find_if(all.begin(), all.end(), [&](const marker& m) { return m.wants == wants; })->text;
}

/// The format of java.util.UUID.
std::string uuid_of(const owner_id& guid) {
  std::string text = guid.hex();
  for (const std::size_t at : {8U, 13U, 18U, 23U}) text.insert(at, 1, '-');
  return text;
}

std::optional<owner_id> guid_in(layout style, std::string_view before_marker) {
  if (style == layout::kazoo) return owner_id::from_hex(before_marker);
  constexpr std::string_view protection = "_c_";
  if (!before_marker.starts_with(protection)) return std::nullopt;
  std::string hex{before_marker.substr(protection.size())};
  hex.erase(std::remove(hex.begin(), hex.end(), '-'), hex.end());
  return owner_id::from_hex(hex);
}

constexpr std::size_t version_byte = 6;
constexpr std::uint8_t version_bits = 0xF0;
constexpr std::uint8_t custom_version = 0x80;

}  // namespace

owner_id marked_as_ours(const owner_id& guid) {
  owner_id::bytes_type bytes{};
  std::copy_n(guid.bytes().begin(), owner_id::size, bytes.begin());
  bytes[version_byte] = static_cast<std::uint8_t>((bytes[version_byte] & 0x0FU) | custom_version);
  return owner_id{bytes};
}

bool is_marked_as_ours(const owner_id& guid) {
  return (static_cast<std::uint8_t>(guid.bytes()[version_byte]) & version_bits) == custom_version;
}

std::string node_name(layout style, role wants, const owner_id& guid) {
  const std::string maker = style == layout::curator ? "_c_" + uuid_of(guid) : guid.hex();
  return maker + std::string{marker_of(style, wants)};
}

std::string downgraded(layout style, std::int32_t number, const owner_id& guid) {
  std::array<char, 16> digits{};
  std::snprintf(digits.data(), digits.size(), "%010d", number);  // the server's format
  return node_name(style, role::reader, guid) + digits.data();
}

/// `%010d` of a 32-bit number.
std::optional<std::int32_t> number_in(std::string_view digits) {
  if (digits.size() < 10 || digits.size() > 11) return std::nullopt;
  if (digits.front() == '+') return std::nullopt;
  std::int32_t value = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (problem != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::optional<contender> parse(layout style, std::string_view node) {
  for (const marker& m : markers(style)) {
    // Curator without protection: the marker's own hyphen belongs to that.
    const std::string_view bare = m.text.substr(1);
    if (style == layout::curator && node.starts_with(bare)) {
      if (const auto number = number_in(node.substr(bare.size()))) {
        return contender{std::string{node}, m.wants, *number, std::nullopt};
      }
    }
    const std::size_t at = node.rfind(m.text);
    if (at == std::string_view::npos) continue;
    const auto number = number_in(node.substr(at + m.text.size()));
    const auto guid = guid_in(style, node.substr(0, at));
    if (number && guid) return contender{std::string{node}, m.wants, *number, guid};
  }
  return std::nullopt;
}

std::optional<contender> contender_at(layout style, std::string_view parent, std::string_view path) {
  const bool is_child = path.size() > parent.size() && path.starts_with(parent) && path[parent.size()] == '/';
  return is_child ? parse(style, path.substr(parent.size() + 1)) : std::nullopt;
}

std::vector<contender> made_with(layout style, const owner_id& guid,
                                 const std::vector<std::string>& children) {
  std::vector<contender> all;
  for (const std::string& each : children) {
    auto c = parse(style, each);
    if (c && c->guid == guid) all.push_back(std::move(*c));
  }
  return all;
}

bool looks_like_contender(std::string_view node) {
  return parse(layout::curator, node).has_value() || parse(layout::kazoo, node).has_value();
}

}  // namespace holdfast::zookeeper
