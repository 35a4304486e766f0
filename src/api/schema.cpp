#include "holdfast/schema.hpp"

#include "stores/open.hpp"

namespace holdfast {

std::string schema(std::string_view url) { return stores::schema_of(store_url{url}, {}).text; }

bool apply_schema(std::string_view url, const client_options& options) {
  return stores::schema_of(store_url{url}, options).provide();
}

}  // namespace holdfast
