#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

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

/// The answer. The body may be shared by many.
struct http_reply {
  unsigned status = 200;
  std::string content_type = "application/json";
  std::shared_ptr<const std::string> body = std::make_shared<const std::string>();
  std::vector<std::pair<std::string, std::string>> headers;  ///< further ones
  bool is_event_stream = false;                              ///< the events follow instead of a body
};

[[nodiscard]] http_reply text_reply(unsigned status, std::string text);
/// `{"error": CODE, "message": MESSAGE}`
[[nodiscard]] http_reply error_reply(unsigned status, const std::string& code, const std::string& message);

}  // namespace holdfast::cli
