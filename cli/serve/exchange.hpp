// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "serve/events.hpp"
#include "serve/shared_text.hpp"

namespace holdfast::cli {

/// What somebody asks of `serve`: of HTTP what the answer depends on.
struct http_request {
  std::string method;
  std::string target;
  std::string host;           ///< the header; empty: none
  std::string origin;         ///< likewise
  std::string fetch_site;     ///< Sec-Fetch-Site, likewise
  std::string accept;         ///< likewise
  std::string authorization;  ///< likewise
  std::string content_type;   ///< likewise
  bool has_origin = false;
  std::string body;
  std::string peer;  ///< its address and port
};

/// The answer.
struct http_reply {
  unsigned status = 200;
  std::string content_type = "application/json";
  text_parts body{};
  std::vector<std::pair<std::string, std::string>> headers{};  ///< further ones
  bool is_event_stream = false;                                ///< the events follow instead of a body
  /// Never refused for want of room: each connection may have one of that size.
  bool is_always_sent = false;
};

[[nodiscard]] http_reply text_reply(unsigned status, std::string text);
/// `{"error": CODE, "message": MESSAGE}`
[[nodiscard]] http_reply error_reply(unsigned status, const std::string& code, const std::string& message);
/// Status 503: says that nothing was done, and why, and to ask again later.
[[nodiscard]] http_reply busy_reply(const std::string& cause);

/// Whoever answers what comes over the connections, on their thread.
class request_handler {
 public:
  virtual ~request_handler() = default;
  request_handler() = default;
  request_handler(const request_handler&) = delete;
  request_handler& operator=(const request_handler&) = delete;

  using handler = std::function<void(http_reply)>;
  /// \param done is called once, now or later.
  virtual void handle(const http_request& request, const handler& done) = 0;
  /// What the reader of a stream gets next; empty: nothing for now.
  [[nodiscard]] virtual text_parts next_event(event_cursor& reader) = 0;
};

}  // namespace holdfast::cli
