// SPDX-License-Identifier: Apache-2.0
#include "serve/events.hpp"

#include <fmt/format.h>
#include <utility>

namespace holdfast::cli {

text_parts event_parts(std::string_view kind, text_parts data) {
  static const auto end = share("\n\n");
  data.insert(data.begin(), share(fmt::format("event: {}\ndata: ", kind)));
  data.push_back(end);
  return data;
}

shared_text event_text(std::string_view kind, std::string_view data) {
  return share(fmt::format("event: {}\ndata: {}\n\n", kind, data));
}

void event_feed::add_change(std::uint64_t revision, shared_text text) {
  if (revision != revision_ + 1 || !text || text->size() > most_bytes) {
    changes_.clear();
    bytes_ = 0;
  }
  revision_ = revision;
  if (!text || text->size() > most_bytes) return;
  bytes_ += text->size();
  changes_.push_back({revision, std::move(text)});
  while (changes_.size() > most_changes || bytes_ > most_bytes) {
    bytes_ -= changes_.front().text->size();
    changes_.pop_front();
  }
}

void event_feed::set_status(shared_text text) {
  ++status_number_;
  status_ = std::move(text);
}

shared_text event_feed::next_change(event_cursor& reader) const {
  for (const change& each : changes_) {
    if (each.revision != reader.revision + 1) continue;
    reader.revision = each.revision;
    return each.text;
  }
  return nullptr;
}

text_parts event_feed::next(event_cursor& reader, const std::function<snapshot()>& last_snapshot) const {
  if (reader.revision != revision_) {
    if (reader.revision != 0) {
      if (auto text = next_change(reader)) return {std::move(text)};
    }
    if (auto last = last_snapshot(); last.revision > reader.revision) {
      reader.revision = last.revision;
      return std::move(last.text);
    }
  }
  if (reader.status == status_number_) return {};
  reader.status = status_number_;
  return {status_};
}

}  // namespace holdfast::cli
