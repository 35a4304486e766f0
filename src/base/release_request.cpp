#include "base/release_request.hpp"

#include <nlohmann/json.hpp>

namespace holdfast {

std::string quoted_reason(std::string_view reason) {
  return nlohmann::json(reason).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string with_release_request(std::string_view metadata, std::string_view reason) {
  std::string text{metadata};
  if (!metadata.ends_with('}')) return text;
  const std::size_t former = metadata.find(release_request_mark);
  text.resize(former == std::string_view::npos ? metadata.size() - 1 : former);
  return text.append(release_request_mark).append(quoted_reason(reason)).append("}");
}

}  // namespace holdfast
