#include "serve/events.hpp"

#include <fmt/format.h>
#include <utility>

namespace holdfast::cli {

std::string event_text(std::string_view kind, std::string_view data) {
  return fmt::format("event: {}\ndata: {}\n\n", kind, data);
}

void event_feed::add_change(std::uint64_t revision, std::string text) {
  if (revision != revision_ + 1) {
    changes_.clear();
    bytes_ = 0;
  }
  revision_ = revision;
  bytes_ += text.size();
  changes_.push_back({revision, std::make_shared<const std::string>(std::move(text))});
  while (changes_.size() > most_changes || bytes_ > most_bytes) {
    bytes_ -= changes_.front().text->size();
    changes_.pop_front();
    if (changes_.empty()) break;
  }
}

void event_feed::set_status(std::string text) {
  ++status_number_;
  status_ = std::make_shared<const std::string>(std::move(text));
}

std::shared_ptr<const std::string> event_feed::next_change(event_cursor& reader) const {
  for (const change& each : changes_) {
    if (each.revision != reader.revision + 1) continue;
    reader.revision = each.revision;
    return each.text;
  }
  return nullptr;
}

std::shared_ptr<const std::string> event_feed::next(
    event_cursor& reader, const std::function<std::shared_ptr<const std::string>()>& snapshot) const {
  if (reader.revision != revision_) {
    if (reader.revision != 0) {
      if (auto text = next_change(reader)) return text;
    }
    reader.revision = revision_;
    return snapshot();
  }
  if (reader.status == status_number_) return nullptr;
  reader.status = status_number_;
  return status_;
}

}  // namespace holdfast::cli
