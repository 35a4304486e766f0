// SPDX-License-Identifier: Apache-2.0
#include "serve/connection_set.hpp"

#include <algorithm>
#include <vector>

namespace holdfast::cli {

std::shared_ptr<connection> connection_set::longest_idle() const {
  std::shared_ptr<connection> oldest;
  for (const auto& each : all_) {
    const auto since = each->idle_since();
    if (since && (!oldest || *since < *oldest->idle_since())) oldest = each;
  }
  return oldest;
}

std::shared_ptr<connection> connection_set::longest_sending(boot_clock::time_point now) const {
  std::shared_ptr<connection> oldest;
  for (const auto& each : all_) {
    if (each->is_stream() || each->unsent().empty() || now - each->sending_since() < least_time) continue;
    if (!oldest || each->sending_since() < oldest->sending_since()) oldest = each;
  }
  return oldest;
}

bool connection_set::make_room(boot_clock::time_point now) {
  if (all_.size() < most) return true;
  auto given_up = longest_idle();
  if (!given_up) given_up = longest_sending(now);
  if (!given_up) return false;
  given_up->close();
  remove(given_up);
  return true;
}

connection_set::texts connection_set::large_texts() const {
  texts result;
  for (const auto& each : all_) {
    for (const auto& text : each->unsent()) {
      if (text->size() <= small_text) continue;
      senders& readers = result[text.get()];
      readers.last_began = std::max(readers.last_began, each->sending_since());
      readers.all.insert(each);
    }
  }
  return result;
}

bool connection_set::make_room_for(const text_parts& parts, boot_clock::time_point now) {
  auto kept = large_texts();
  std::size_t bytes = 0;
  bool is_more = false;
  for (const auto& [text, readers] : kept) bytes += text->size();
  for (const auto& text : parts) {
    if (text->size() <= small_text || kept.erase(text.get()) != 0) continue;
    is_more = true;
    bytes += text->size();
  }
  // One that is too large by itself is sent when there is no other.
  while (is_more && bytes > most_bytes && !kept.empty()) {
    const auto oldest =
        std::ranges::min_element(kept, {}, [](const auto& each) { return each.second.last_began; });
    if (now - oldest->second.last_began < least_time) return false;
    bytes -= oldest->first->size();
    for (const auto& each : oldest->second.all) {
      each->close();
      remove(each);
    }
    kept.erase(oldest);
  }
  return true;
}

bool connection_set::make_room_for_stream(const std::string& client) {
  std::map<std::string, std::vector<std::shared_ptr<connection>>> streams;
  std::size_t count = 0;
  for (const auto& each : all_) {
    if (!each->is_stream()) continue;
    streams[each->client()].push_back(each);
    ++count;
  }
  if (count < most_streams) return true;
  const auto own = streams[client].size();
  const auto& largest =
      std::ranges::max_element(streams, {}, [](const auto& each) { return each.second.size(); })->second;
  if (largest.size() < own + 2) return false;
  largest.front()->close();
  remove(largest.front());
  return true;
}

void connection_set::wake_streams() {
  const auto now = all_;  // one that fails takes itself out
  for (const auto& each : now) each->wake();
}

void connection_set::close_all() {
  const auto now = all_;
  for (const auto& each : now) each->close();
  all_.clear();
}

}  // namespace holdfast::cli
