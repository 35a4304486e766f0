#include "holdfast/schema.hpp"

#include "runtime/backend.hpp"

namespace holdfast {

std::string schema(std::string_view url) { return runtime::layout_of(store_url{url}, {}).text; }

bool apply_schema(std::string_view url, const client_options& options) {
  return runtime::layout_of(store_url{url}, options).provide();
}

}  // namespace holdfast
