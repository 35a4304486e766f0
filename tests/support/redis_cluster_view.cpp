// SPDX-License-Identifier: Apache-2.0
#include "support/redis_cluster_view.hpp"

#include <algorithm>
#include <sstream>

namespace holdfast::test {

namespace {

/// "0-5460" or "5461". A slot that moves, "[93->-NODE]", is owned by another range of the line or node.
void add_range(redis_cluster_view::node& to, const std::string& text) {
  if (text.starts_with('[')) return;
  const auto dash = text.find('-');
  const int first = std::stoi(text);
  to.slots.push_back({first, dash == std::string::npos ? first : std::stoi(text.substr(dash + 1)), to.id});
}

/// ID ADDRESS FLAGS PRIMARY PING_SENT PONG_RECEIVED EPOCH LINK_STATE RANGE...
redis_cluster_view::node parse_node(const std::string& line) {
  std::istringstream words{line};
  redis_cluster_view::node result;
  std::string address;
  std::string flags;
  std::string ignored;
  std::string link;
  words >> result.id >> address >> flags >> result.primary >> ignored >> ignored >> ignored >> link;
  if (result.primary == "-") result.primary.clear();
  result.is_usable = true;
  for (const char* flag : {"handshake", "fail", "noaddr"}) {  // "fail?" too
    if (flags.find(flag) != std::string::npos) result.is_usable = false;
  }
  result.is_connected = link == "connected";
  for (std::string text; words >> text;) add_range(result, text);
  return result;
}

}  // namespace

redis_cluster_view::redis_cluster_view(std::string_view nodes) {
  std::istringstream lines{std::string{nodes}};
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) nodes_.push_back(parse_node(line));
  }
}

const redis_cluster_view::node* redis_cluster_view::find(std::string_view id) const {
  const auto found = std::find_if(nodes_.begin(), nodes_.end(), [&](const node& n) { return n.id == id; });
  return found == nodes_.end() ? nullptr : &*found;
}

std::string redis_cluster_view::owner_of(int slot) const {
  for (const range& r : slots()) {
    if (r.first <= slot && slot <= r.last) return r.owner;
  }
  return {};
}

std::vector<redis_cluster_view::range> redis_cluster_view::slots() const {
  std::vector<range> result;
  for (const node& n : nodes_) result.insert(result.end(), n.slots.begin(), n.slots.end());
  std::sort(result.begin(), result.end(), [](const range& a, const range& b) { return a.first < b.first; });
  return result;
}

bool redis_cluster_view::is_covered() const {
  std::size_t covered = 0;
  for (const range& r : slots()) {
    if (!find(r.owner)->is_usable) return false;
    covered += static_cast<std::size_t>(r.last - r.first) + 1;
  }
  return covered == slot_count;
}

}  // namespace holdfast::test
