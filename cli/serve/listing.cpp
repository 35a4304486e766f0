// SPDX-License-Identifier: Apache-2.0
#include "serve/listing.hpp"

#include <fmt/format.h>
#include <string>

#include "output/json.hpp"
#include "serve/answers.hpp"

namespace holdfast::cli {

namespace {

/// Row by row: all of them as objects would take many times as much memory as their text.
shared_text rows_of(const snapshot& all) {
  std::string text = "[";
  for (const lock_row& row : all.rows) {
    if (text.size() > 1) text += ',';
    text += dumped(describe(row, all.taken_at));
  }
  text += ']';
  text.shrink_to_fit();
  return share(std::move(text));
}

}  // namespace

text_parts listing::describe(boot_clock::time_point now) const {
  static const auto end = share("}");
  return {share(fmt::format(R"({{"revision":{},"taken_ago_s":{},"total":{},"locks":)", revision,
                            to_seconds(now - taken_at), total)),
          rows, end};
}

std::size_t listing_cache::bytes_kept() {
  std::erase_if(texts_, [](const auto& each) { return each.expired(); });
  std::size_t bytes = 0;
  for (const auto& each : texts_) {
    const auto text = each.lock();
    const bool is_kept_here_alone =
        text == last_.rows && last_.rows.use_count() == 2;  // with the one of this line
    if (!is_kept_here_alone) bytes += text->size();
  }
  return bytes;
}

const listing& listing_cache::get(const snapshot& last, boot_clock::time_point now) {
  if (last_.rows) {
    if (last_.taken_at == last.taken_at) return last_;
    const bool has_room = bytes_kept() + last_.rows->size() <= most_bytes_;
    if (!has_room && now - last_.taken_at < oldest) return last_;
  }
  // Before the new one is made: nobody may keep it.
  last_.rows.reset();
  last_ = {.revision = last.revision, .taken_at = last.taken_at, .total = last.total, .rows = rows_of(last)};
  texts_.emplace_back(last_.rows);
  return last_;
}

}  // namespace holdfast::cli
