#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::redis {

/// One reply of the server, or one part of it, as far as the difference between RESP3's types matters here.
struct value {
  enum class kind : std::uint8_t {
    null,
    number,
    text,   // simple, bulk and verbatim strings, doubles, big numbers
    error,  // `text` begins with its code: "WRONGTYPE ...", "NOSCRIPT ..."
    list,   // arrays and sets; a map's keys and values in turn
    push,   // not a reply: a message, an invalidation
  };
  kind type = kind::null;
  std::int64_t number = 0;
  std::string text;
  std::vector<value> items;

  [[nodiscard]] bool is(kind k) const { return type == k; }
};

}  // namespace holdfast::redis
