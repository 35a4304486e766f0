#include "holdfast/diagnosis.hpp"

#include "stores/open.hpp"

namespace holdfast {

std::vector<finding> diagnose(std::string_view url, const client_options& options) {
  return stores::diagnose(store_url{url}, options);
}

}  // namespace holdfast
