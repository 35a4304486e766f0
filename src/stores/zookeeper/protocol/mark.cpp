#include "stores/zookeeper/protocol/mark.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "stores/zookeeper/protocol/layout.hpp"

namespace holdfast::zookeeper {

namespace {

constexpr std::string_view signature = "holdfast-rest 1 ";

/// The leader's clock counts whole milliseconds, so a difference of two times may be too long by one.
constexpr std::chrono::milliseconds resolution{1};

}  // namespace

std::string to_text(const mark& m) {
  return std::string{signature} + std::to_string(static_cast<int>(m.mode)) + ' ' + std::to_string(m.permits) +
         ' ' + std::to_string(m.length.count()) + ' ' + (m.is_stamped ? '1' : '0') + ' ' +
         std::to_string(m.token.value()) + '\n' + m.metadata;
}

std::optional<mark> read_mark(std::string_view text) {
  const auto line_end = text.find('\n');
  if (!text.starts_with(signature) || line_end == std::string_view::npos) return std::nullopt;
  std::string_view line = text.substr(signature.size(), line_end - signature.size());
  std::array<std::int64_t, 5> numbers{};
  for (std::int64_t& number : numbers) {
    const auto [end, problem] = std::from_chars(line.data(), line.data() + line.size(), number);
    if (problem != std::errc{} || number < 0) return std::nullopt;
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
    if (!line.empty() && line.front() == ' ') line.remove_prefix(1);
  }
  const auto last_mode = static_cast<std::int64_t>(holdfast::mode::permits);
  if (!line.empty() || numbers[0] > last_mode || numbers[3] > 1) return std::nullopt;
  mark m;
  m.mode = static_cast<holdfast::mode>(numbers[0]);
  m.permits = numbers[1];
  m.length = std::min<duration>(duration{numbers[2]}, longest_rest);
  m.is_stamped = numbers[3] == 1;
  m.token = fencing_token{static_cast<std::uint64_t>(numbers[4])};
  m.metadata = text.substr(line_end + 1);
  return m;
}

duration left_of(const mark& m, const status& node, std::int64_t now_ms) {
  if (!m.is_stamped) return m.length;
  const std::chrono::milliseconds since{std::max<std::int64_t>(now_ms - node.changed_ms, 0)};
  if (since > m.length + resolution) return duration::zero();
  return m.length + resolution - since;
}

bool is_of_the_future(const status& node, std::int64_t now_ms) {
  return now_ms != 0 && node.changed_ms - now_ms > 1000;
}

std::string rests_path(const std::string& base) { return std::string{base}.append("/").append(rests_node); }

std::string mark_path(const std::string& base, const owner_id& guid) {
  return rests_path(base).append("/").append(guid.hex());
}

void add_living(std::set<owner_id>& to, const std::vector<std::string>& children) {
  for (const std::string& each : children) {
    for (const layout style : {layout::curator, layout::kazoo}) {
      if (const auto c = parse(style, each); c && c->guid) to.insert(*c->guid);
    }
  }
}

std::vector<owner_id> ended_of(const std::vector<std::string>& marks, const std::set<owner_id>& living) {
  std::vector<owner_id> ended;
  for (const std::string& each : marks) {
    const auto guid = owner_id::from_hex(each);
    if (guid && !living.contains(*guid)) ended.push_back(*guid);
  }
  return ended;
}

}  // namespace holdfast::zookeeper
